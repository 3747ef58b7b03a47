//===- Passes.td - The choice of strategy -----------------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TARGET_PASSES_TD
#define TENON_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def TenonSelectStrategy : Pass<"tenon-select-strategy", "::mlir::ModuleOp"> {
  let summary = "Choose how each linear layer is computed";
  let description = [{
    Writes `strategy`, and for tiled layers `schedule`, on every
    `tenon.linear` and `tenon.fused_linear`. One choice is made for all targets,
    since the layer becomes one kernel that is compiled for each. Without targets
    the pass does nothing. A `schedule` or `reduction` that is asked for and that no
    layer can have gives a warning; remarks say of each layer why.

    | a layer | becomes |
    |---------|---------|
    | with `strategy` or `schedule` on it | what they say; a schedule alone means `tiled` |
    | of f64, or with an extent of more than 2^30 | `library` |
    | with another reduction in its epilogue than one training batch norm, or a result that is not of the product's shape, and no split | `library` |
    | any other, with `strategy=tiled` | `tiled` |
    | any other, with `strategy=auto` | `tiled` if it is predicted to take little enough of the library's time on every target, else `library`; a remark says how little, or that the library has a faster instruction or errs less |

    Kernels are of family `wgmma` where all targets have it (sm_90a alone) and rows
    of K are multiples of 16 bytes, which TMA asks for and split rows always are; of
    family `mma_sync` everywhere else. A schedule that is given may be of either family.

    The schedule's `method` says how numbers are multiplied. Layers of precision
    `fp32` take `fp16x3`, three products of f16 that `tenon.split` makes of x and w;
    below K = 64, where that would not be as accurate, they take `fma`. Layers of
    precision `tf32` take `direct`, or `fp16`, one product of f16, whichever is
    predicted to take less time, the split of x and the guard included. Of what a
    tile cannot compute, several reductions or a result of another shape, a split
    layer leaves all that follows the product to a `tenon.epilogue`. All others take
    `direct`. A schedule that is written may have another method that gives the
    layer's precision; docs/Precision.md has a table of them.

    The schedule's `reduction` says how a training batch norm is computed; of those
    that the layer can have, the one that is predicted to take least time is
    chosen, or the one that the option asks for. Another must be 3 % faster than
    `resident`, which does not round what it normalises. One that cannot be gives
    way to the one above it in this table, `separate` to the library:

    | reduction | predicted time |
    |-----------|----------------|
    | `separate` (split products alone) | the product, and two passes over it, each a launch |
    | `two_phase` | the product, and one pass over what is reduced |
    | `resident` (row tiles that fit the GPU at once; with a dynamic M, for wgmma alone, `two_phase` stands beside it for calls whose rows do not; for wgmma method `direct`) | the product in whole turns, and a wait in each |
    | `input_moments` (K at most 256, not precision `tf32`, sums and products with numbers or `[N]` alone before the norm) | the product, and before it kernels of `(M + N) K^2` products in f64 |

    Where rows are reduced, it is `in_tile` if a tile has whole ones (N at most 256,
    M not 1, at most four reductions), or whole groups of columns (2, 4 or a
    multiple of 8 of them, at most one result `[M, N]`); for wider rows it is
    `reduce_only` where all
    results are of one value a row and follow from parts of rows (sums, means,
    maxima, minima, and sums of `exp(x - v)` with v of one value a row, as in a
    logsumexp); else `resident_rows` on targets with wgmma, if one or two reductions
    follow from parts that tiles exchange (the same, and sums of squared distances
    from the mean), and so for groups of 128 columns or more; else `separate`.
    `resident_rows` of family `mma_sync` was not measured, and is for schedules that are
    written. What the option asks of the other axis says nothing about a layer.

    `resident` of family `mma_sync`, or of a dynamic M, was not measured, so it is
    computed where it is asked for, and no prediction chooses it. What fits two
    thirds of L2 is read faster in such a pass. A remark has the times of all.

    For `auto` two times are compared: that of the best schedule (operations at
    the rate of the family's instruction, waves of tiles, the tile's efficiency,
    bytes of memory, those of rounding, casting or splitting x and w in each call
    among them;
    for `wgmma` also bytes from L2, and epilogues that no other tile's products
    hide) and that of the library (operations at cuBLAS's rate; one more pass over
    the product where cuBLASLt's own epilogue cannot compute the rest). A dynamic M
    is taken for 1024 rows. Of two schedules of family `wgmma` that are predicted
    about the same time, the one that is tried first is taken. A schedule that was
    measured comes before all that are predicted: `lib/Schedule/Wgmma/WgmmaTuned.inc`
    has them for an input type, M, N, K and how much the epilogue computes. Only
    `resident` of several turns may take one that holds tiles from turn to turn
    (`defer`) in its place.

    Operands of tiled layers are made to fit the kernel: x and w of precision
    `tf32` and method `direct` are rounded by `tenon.round_tf32` for `mma_sync` (for
    `wgmma`, TMA rounds as it copies); those of precision `bf16` or `fp16` are cast, which leaves the
    product f32; for methods that split they are split, and
    `tenon.with_split` puts the halves beside them. Layers that read the same
    operand share what is made of it. What is done to parameters moves to prepare, so the pass
    comes before `--tenon-hoist-prepare`; what is done to another layer's result
    joins its epilogue, by `--tenon-fuse-epilogue` once more. Run again, it changes
    nothing.

    Before:

    ```mlir
    %y = tenon.linear %x, %w precision<tf32>
        : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    ```

    After, with `targets=sm_80 strategy=tiled`; below without `precision<tf32>`:

    ```mlir
    %0:2 = tenon.split %x : (tensor<4096x4096xf32>) -> (tensor<4096x4096xf16>, tensor<4096x1xf32>)
    %1 = tenon.with_split %x, %0#0, %0#1 : tensor<4096x4096xf32>, tensor<4096x4096xf16>, tensor<4096x1xf32>
    %2:2 = tenon.split %w : (tensor<4096x4096xf32>) -> (tensor<4096x4096xf16>, tensor<4096x1xf32>)
    %3 = tenon.with_split %w, %2#0, %2#1 : tensor<4096x4096xf32>, tensor<4096x4096xf16>, tensor<4096x1xf32>
    %y = tenon.linear %1, %3 precision<tf32> {
        schedule = #tenon.schedule<mma_sync, tile = 128x256x64, warps = 2x4,
            stages = 3, swizzle = 128, raster = 16, blocks = 1, stream_k = true,
            method = fp16>,
        strategy = #tenon.strategy<tiled>}
        : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    ```

    ```mlir
    %0:2 = tenon.split %x : (tensor<4096x4096xf32>) -> (tensor<4096x8192xf16>, tensor<4096x1xf32>)
    %1 = tenon.with_split %x, %0#0, %0#1 : tensor<4096x4096xf32>, tensor<4096x8192xf16>, tensor<4096x1xf32>
    %2:2 = tenon.split %w : (tensor<4096x4096xf32>) -> (tensor<4096x8192xf16>, tensor<4096x1xf32>)
    %3 = tenon.with_split %w, %2#0, %2#1 : tensor<4096x4096xf32>, tensor<4096x8192xf16>, tensor<4096x1xf32>
    %y = tenon.linear %1, %3 {
        schedule = #tenon.schedule<mma_sync, tile = 128x128x64, warps = 2x4,
            stages = 4, swizzle = 128, raster = 16, blocks = 1, stream_k = true,
            method = fp16x3>,
        strategy = #tenon.strategy<tiled>}
        : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    ```

    Two layers that read one x have one kernel where that is predicted to take no
    longer than both (`pairs`), if the epilogue of one has the other's result as an
    operand, and their weights are of one type: gated units such as
    `silu(x w1^T) * (x w0^T)`. Both then have the same schedule, with
    `weights = 2`; `--tenon-to-tiled` makes one op of them, which gives what else
    reads the result too.

    So have layers whose products are added (`pairs`): each but the first adds what
    the one before it gives to its product, and nothing else reads that. They have
    16 bits or precision `tf32`, x and w of all lie alike, and the schedule has as
    many `terms`, at most 4.

    Layers that read one x, and need no result of each other, have one launch
    (`siblings`) where they have 256 rows at most and that is predicted to take less
    time than one each: q, k and v of attention. They then have the same schedule,
    with as many `siblings`, chosen as for one layer with the columns of all, and
    stand beside each other.

    A remark of category `tenon-select-strategy` says for each layer what was
    chosen and why: an analysis with the predicted times, or, where the layer
    cannot be tiled, a missed one with what to do about it.

    Errors: an unknown target, strategy, reduction or value of `pairs` or `siblings`; a text that is no schedule; a
    schedule or a reduction together with strategy `library`, or with each other; a schedule written on a layer that a target,
    the layer's element type, precision, K or epilogue cannot have; `tiled` written on a layer
    that cannot be tiled. Where the option's schedule does not give a layer's
    precision, the layer goes to the library.
  }];
  let options = [
    ListOption<"targets", "targets", "std::string",
               "GPU architectures, as sm_80,sm_90a">,
    Option<"strategy", "strategy", "std::string", "\"auto\"",
           "auto, or the strategy of every layer that can have it: library, "
           "tiled">,
    Option<"schedule", "schedule", "std::string", "\"\"",
           "the schedule of every tiled layer, as #tenon.schedule<...> or what "
           "stands within; empty: one is chosen for each">,
    Option<"reduction", "reduction", "std::string", "\"auto\"",
           "auto, or how every tiled layer that can have it reduces for a "
           "training batch norm: separate, two_phase, resident, "
           "input_moments">,
    Option<"pairs", "pairs", "std::string", "\"auto\"",
           "auto, or whether two layers of one x, of which one's epilogue reads "
           "the other's result, and layers whose products are added have one "
           "kernel: always where they can, never">,
    Option<"siblings", "siblings", "std::string", "\"auto\"",
           "whether layers of one x have one launch: always where they can, "
           "never, or auto, which is never">,
  ];
  let dependentDialects = ["::mlir::tenon::TenonDialect"];
}

def TenonListSchedules : Pass<"tenon-list-schedules", "::mlir::ModuleOp"> {
  let summary = "List the schedules that are worth measuring for each layer";
  let description = [{
    Writes `tenon.candidates` on every `tenon.linear` and `tenon.fused_linear`: the
    schedules that all targets can take for it, those first that are predicted to
    take least time, and whether its epilogue is `light` or `heavy` (built on exp,
    erf or tanh, or reads an operand of the product's shape). There are none where
    no kernel can have the layer. Without targets the pass does nothing.

    Of family `mma_sync` they are those of which `--tenon-select-strategy` chooses.
    Of family `wgmma`, which comes first where the layer can have it, they are more:
    tiles that are not usual, and those that only measuring tells apart, by raster,
    stages, stream-K and defer. A training batch norm is left to other kernels. What
    is written on the layer is not read.

    Before:

    ```mlir
    %y = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    ```

    After, with `targets=sm_90a`, of thousands the first:

    ```mlir
    %y = tenon.linear %x, %w {tenon.candidates = {epilogue = "light", schedules = [
        #tenon.schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128,
            raster = 8, blocks = 1, cluster = 1x2, defer = true>]}}
        : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    ```

    Error: an unknown target.
  }];
  let options = [
    ListOption<"targets", "targets", "std::string",
               "GPU architectures, as sm_80,sm_90a">,
  ];
  let dependentDialects = ["::mlir::tenon::TenonDialect"];
}

#endif // TENON_TARGET_PASSES_TD
