//===- TenonAttrs.td - Attributes of the tenon dialect -----*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONATTRS_TD
#define TENON_DIALECT_TENON_IR_TENONATTRS_TD

include "mlir/IR/EnumAttr.td"
include "tenon/Dialect/Tenon/IR/TenonDialect.td"

def Tenon_Precision : I32EnumAttr<"Precision",
    "how accurate a product must be", [
      I32EnumAttrCase<"FP32", 0, "fp32">,
      I32EnumAttrCase<"TF32", 1, "tf32">,
      I32EnumAttrCase<"BF16", 2, "bf16">,
      I32EnumAttrCase<"FP16", 3, "fp16">]> {
  let cppNamespace = "::mlir::tenon";
  let genSpecializedAttr = 0;
}

def Tenon_PrecisionAttr : EnumAttr<Tenon_Dialect, Tenon_Precision,
                                   "precision"> {
  let summary = "A contract on the error of a product of f32 tensors";
  let description = [{
    Says how accurate the product must be, not which instruction computes it:

    | value  | the error is at most that of |
    |--------|------------------------------|
    | `fp32` | cuBLAS's SGEMM; the default |
    | `tf32` | a product of operands rounded to tf32, accumulated in f32 |
    | `bf16` | a product of operands rounded to bf16, accumulated in f32 |
    | `fp16` | a product of operands rounded to f16, accumulated in f32 |

    PyTorch's `torch.get_float32_matmul_precision()` maps to it: `highest` to
    `fp32`, `high` to `tf32`, `medium` to `bf16`.

    Example:

    ```mlir
    %y = tenon.linear %x, %w precision<tf32>
        : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
    ```
  }];
  let assemblyFormat = "`<` custom<Precision>($value) `>`";
}

def Tenon_OperandLayout : I32EnumAttr<"OperandLayout",
    "how x and w of a product lie in memory", [
      I32EnumAttrCase<"MK_NK", 0, "mk_nk">,
      I32EnumAttrCase<"MK_KN", 1, "mk_kn">,
      I32EnumAttrCase<"KM_NK", 2, "km_nk">,
      I32EnumAttrCase<"KM_KN", 3, "km_kn">]> {
  let cppNamespace = "::mlir::tenon";
  let genSpecializedAttr = 0;
}

def Tenon_OperandLayoutAttr : EnumAttr<Tenon_Dialect, Tenon_OperandLayout,
                                       "layout"> {
  let summary = "Which dimensions of a product's x and w are first";
  let description = [{
    A product is `x w^T` with x `[M, K]` and w `[N, K]`. Its layout says which of
    them are given transposed, as what a backward pass multiplies is:

    | value   | x        | w        | PyTorch's |
    |---------|----------|----------|-----------|
    | `mk_nk` | `[M, K]` | `[N, K]` | `x @ w.t()`, a linear layer; the default |
    | `mk_kn` | `[M, K]` | `[K, N]` | `x @ w`, the gradient of a layer's input |
    | `km_nk` | `[K, M]` | `[N, K]` | `x.t() @ w.t()` |
    | `km_kn` | `[K, M]` | `[K, N]` | `x.t() @ w`, the gradient of a weight |

    Example:

    ```mlir
    layout<km_kn>
    ```
  }];
  let assemblyFormat = "`<` custom<OperandLayout>($value) `>`";
}

def Tenon_GeluApproximation : I32EnumAttr<"GeluApproximation",
    "how gelu is computed", [
      I32EnumAttrCase<"None", 0, "none">,
      I32EnumAttrCase<"Tanh", 1, "tanh">,
      I32EnumAttrCase<"TF32", 2, "tf32">]> {
  let cppNamespace = "::mlir::tenon";
  let genSpecializedAttr = 0;
}

def Tenon_GeluApproximationAttr : EnumAttr<Tenon_Dialect,
                                           Tenon_GeluApproximation, "gelu"> {
  let summary = "`none`: the exact gelu, by erf; `tanh`: the tanh approximation; "
                "`tf32`: exact as far as products of tf32 are";
  let assemblyFormat = "`<` custom<GeluApproximation>($value) `>`";
}

def Tenon_RowReduction : I32EnumAttr<"RowReduction",
    "what is taken of the elements of a row", [
      I32EnumAttrCase<"Sum", 0, "sum">,
      I32EnumAttrCase<"Mean", 1, "mean">,
      I32EnumAttrCase<"Max", 2, "max">,
      I32EnumAttrCase<"Min", 3, "min">,
      I32EnumAttrCase<"ArgMax", 4, "argmax">,
      I32EnumAttrCase<"ArgMin", 5, "argmin">]> {
  let cppNamespace = "::mlir::tenon";
  let genSpecializedAttr = 0;
}

def Tenon_RowReductionAttr : EnumAttr<Tenon_Dialect, Tenon_RowReduction,
                                      "row_reduction"> {
  let summary = "What is taken of the elements of a row";
  let assemblyFormat = "$value";
}

def Tenon_Strategy : I32EnumAttr<"Strategy", "how a linear layer is computed", [
      I32EnumAttrCase<"Library", 0, "library">,
      I32EnumAttrCase<"Tiled", 1, "tiled">]> {
  let cppNamespace = "::mlir::tenon";
  let genSpecializedAttr = 0;
}

def Tenon_StrategyAttr : EnumAttr<Tenon_Dialect, Tenon_Strategy, "strategy"> {
  let summary = "How a linear layer is computed, #tenon.strategy<library> or "
                "#tenon.strategy<tiled>";
  let description = [{
    `library`: a cuBLASLt product, and an epilogue kernel for what cuBLASLt cannot
    do. `tiled`: one kernel made from a `#tenon.schedule`. Written on a linear
    layer as `strategy`, by hand or by `--tenon-select-strategy`.

    Example:

    ```mlir
    %y = tenon.linear %x, %w {strategy = #tenon.strategy<library>}
        : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
    ```
  }];
  let assemblyFormat = "`<` custom<Strategy>($value) `>`";
}

def Tenon_KernelFamily : I32EnumAttr<"KernelFamily",
    "the matrix instruction that a tiled kernel is built on", [
      I32EnumAttrCase<"MmaSync", 0, "mma_sync">,
      I32EnumAttrCase<"Wgmma", 1, "wgmma">]> {
  let cppNamespace = "::mlir::tenon";
  let genSpecializedAttr = 0;
}

def Tenon_ProductMethod : I32EnumAttr<"ProductMethod",
    "how a tiled kernel multiplies numbers", [
      I32EnumAttrCase<"Direct", 0, "direct">,
      I32EnumAttrCase<"FP16", 1, "fp16">,
      I32EnumAttrCase<"FP16x3", 2, "fp16x3">,
      I32EnumAttrCase<"FMA", 3, "fma">,
      I32EnumAttrCase<"FP8", 4, "fp8">]> {
  let cppNamespace = "::mlir::tenon";
  let genSpecializedAttr = 0;
}

def Tenon_ReductionMethod : I32EnumAttr<"ReductionMethod",
    "how a reduction that follows a product is computed", [
      I32EnumAttrCase<"Separate", 0, "separate">,
      I32EnumAttrCase<"TwoPhase", 1, "two_phase">,
      I32EnumAttrCase<"Resident", 2, "resident">,
      I32EnumAttrCase<"InputMoments", 3, "input_moments">,
      I32EnumAttrCase<"InTile", 4, "in_tile">,
      I32EnumAttrCase<"ReduceOnly", 5, "reduce_only">,
      I32EnumAttrCase<"ResidentRows", 6, "resident_rows">]> {
  let cppNamespace = "::mlir::tenon";
  let genSpecializedAttr = 0;
}

def Tenon_ScheduleAttr : AttrDef<Tenon_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "How a tiled kernel divides a product, a #tenon.schedule";
  let description = [{
    | field      | meaning |
    |------------|---------|
    | `family`   | `mma_sync`: sm_80's cp.async, ldmatrix and mma.sync; `wgmma`: sm_90a's TMA and wgmma, with warps that copy beside those that multiply |
    | `tile`     | what a thread block computes at a time, M x N x K in elements |
    | `warps`    | warps along M and N that multiply a tile, each with an equal part of it; with `wgmma` all lie along M, or along N with operands swapped, below |
    | `stages`   | tiles of K in flight in shared memory |
    | `swizzle`  | bytes of a row in shared memory, over which 16-byte chunks are permuted: K's extent in bytes |
    | `raster`   | row tiles in a group; blocks walk through a group column by column, so that they share rows of w in L2 |
    | `blocks`   | thread blocks at once on a multiprocessor |
    | `stream_k` | whether tiles that do not fill a wave of blocks are divided along K; if not written: false |
    | `cluster`  | neighbouring tiles along M and N whose blocks share copies of w and x; none: 1x1 |
    | `ping_pong` | whether two groups of such warps take tiles in turn, so that one multiplies while the other finishes; else false |
    | `defer`    | whether tiles are finished in part while the next turn's products are computed, below; else false |
    | `weights`  | products of one x that a kernel has, each with a w of its own, whose tiles are of N columns each; if not written: 1 |
    | `siblings` | layers of one x that have one launch, each with its own w, epilogue and results; if not written: 1 |
    | `terms`    | products that are added up, each of an x and a w of its own; if not written: 1 |
    | `method`   | how numbers are multiplied, if not directly; below |
    | `reduction` | how batch norm that follows is computed, if not separately; below |

    | method   | x and w | product |
    |----------|---------|---------|
    | `direct` | f16, bf16, or f32 as tf32 | in their type |
    | `fp16`   | f32 that `tenon.split` rounded to f16, row by row on a scale | one product of f16, with tf32's precision |
    | `fp16x3` | f32 that `tenon.split` halved | three products of f16, with the precision of fp32 |
    | `fma`    | f32 | one by one, without tensor cores, as fp32 |
    | `fp8`    | f8E4M3FN or f8E5M2 | in their type; sums of 128 of K are added up in f32 |

    | reduction | a layer that ends in training batch norm, or with the last three one that reduces rows |
    |-----------|------------------------------------------|
    | `separate` | the product; a kernel that reduces it, one that normalises it |
    | `two_phase` | the product's kernel also gives moments of each 64 rows (wgmma) or row tile (mma_sync); one more normalises |
    | `resident` | one kernel: all row tiles of a column are on the GPU together and exchange moments before they store |
    | `input_moments` | moments of x give those of the product, which its kernel normalises |
    | `in_tile` | one kernel, whose tiles have whole rows, which it reduces before it stores |
    | `reduce_only` | the product's kernel writes what it reduces its tiles' rows to, and nothing of `[M, N]`; one more reduces that |
    | `resident_rows` | one kernel: all column tiles of a row, or of a group of its columns, are on the GPU together and exchange what they reduce it to before they store |

    One wgmma has 64 rows, and columns by eights. With `warps` along M its rows
    are those of x, so tiles have 64 of them at least. With `warps = 1x4` or
    `1x8` operands are swapped: the kernel computes `w x^T`, whose rows are those
    of w. Tiles then have 8 to 256 rows of x, in steps of 8, and no others are
    multiplied in vain where M is small.

    With `defer` and operands swapped, warps hold a part of a tile when its
    products are done, and finish it beside those of the next: as much as there
    are registers for. Of a long epilogue on a product of 16 bits it is all,
    rounded to that type; with `reduction = resident`, where results are of 16
    bits, all too, rounded to their type as distances from columns' means. A
    thread has at most 128 accumulators, without `stream_k`, `ping_pong` and
    method `fp16x3`. Where TMA does not move the results, or K has too few
    stages, tiles are finished one by one all the same.

    With `weights = 2` a kernel has two layers of one x: the first layer's result
    is an operand of the second one's epilogue and read nowhere else, and both
    have this schedule. A stage holds N rows of each w, so a thread has both
    products of an element; it computes the first layer's epilogue and then the
    second one's, and nothing of the first is stored. Of family `wgmma`, without
    reductions.

    With `siblings = 3` three layers of one x, of which none needs another's
    result, have one launch: its first blocks compute the first layer, the next
    ones the second, each block one tile. All have this schedule; their N,
    epilogues and results are their own. There is no `stream_k`, `ping_pong`,
    `defer`, `cluster` or `weights`, no reduction, and no method that splits.

    With `terms = 2` a kernel has two layers of which the first one's result is
    added to the second one's product, and read nowhere else: both have this
    schedule. It goes through the K tiles of the second layer's x and w, then
    through those of the first one's, with the same accumulators; each K may be
    any. So has `terms = 3` three layers, of which the second one takes the first
    one's result. Of family `wgmma`, by method `direct`, without reductions,
    `weights` or `siblings`.

    Which schedules a target and an element type can take is checked where they
    are known (`findProblem`, Schedule/Checks/Schedule.h).

    Example:

    ```mlir
    #tenon.schedule<mma_sync, tile = 128x256x64, warps = 2x4, stages = 3,
                    swizzle = 128, raster = 8, blocks = 1, stream_k = true>
    #tenon.schedule<wgmma, tile = 16x128x64, warps = 1x4, stages = 10,
                    swizzle = 128, raster = 128, blocks = 1, stream_k = true>
    ```

    Errors: an extent that is not positive; another number of extents.
  }];
  // ScheduleParameters.h
  let parameters = (ins AttrParameter<"ScheduleParameters", "", "const ScheduleParameters &">:$parameters);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    KernelFamily getFamily() const { return getParameters().family; }
    ArrayRef<int64_t> getTile() const { return getParameters().tile; }
    ArrayRef<int64_t> getWarps() const { return getParameters().warps; }
    int64_t getStages() const { return getParameters().stages; }
    int64_t getSwizzle() const { return getParameters().swizzle; }
    int64_t getRaster() const { return getParameters().raster; }
    int64_t getBlocks() const { return getParameters().blocks; }
    bool getStreamK() const { return getParameters().streamK; }
    int64_t getClusterM() const { return getParameters().cluster[0]; }
    int64_t getClusterN() const { return getParameters().cluster[1]; }
    bool getPingPong() const { return getParameters().pingPong; }
    bool getDefer() const { return getParameters().defer; }
    int64_t getWeights() const { return getParameters().weights; }
    int64_t getSiblings() const { return getParameters().siblings; }
    int64_t getTerms() const { return getParameters().terms; }
    ProductMethod getMethod() const { return getParameters().method; }
    ReductionMethod getReduction() const { return getParameters().reduction; }

    /// Warps that multiply one tile, and their threads.
    int64_t getNumWarps() const { return getWarps()[0] * getWarps()[1]; }
    int64_t getNumThreads() const { return 32 * getNumWarps(); }
    /// Blocks of a cluster.
    int64_t getClusterBlocks() const { return getClusterM() * getClusterN(); }
    /// This schedule with another way to multiply.
    ScheduleAttr withMethod(ProductMethod method) const {
      ScheduleParameters parameters = getParameters();
      parameters.method = method;
      return get(getContext(), parameters);
    }
    /// This schedule with another way to reduce.
    ScheduleAttr withReduction(ReductionMethod reduction) const {
      ScheduleParameters parameters = getParameters();
      parameters.reduction = reduction;
      return get(getContext(), parameters);
    }
    /// This schedule with as many products.
    ScheduleAttr withWeights(int64_t weights) const {
      ScheduleParameters parameters = getParameters();
      parameters.weights = weights;
      return get(getContext(), parameters);
    }
    /// This schedule with as many products that are added up.
    ScheduleAttr withTerms(int64_t terms) const {
      ScheduleParameters parameters = getParameters();
      parameters.terms = terms;
      return get(getContext(), parameters);
    }
    /// This schedule in a launch of so many layers.
    ScheduleAttr withSiblings(int64_t siblings) const {
      ScheduleParameters parameters = getParameters();
      parameters.siblings = siblings;
      return get(getContext(), parameters);
    }
    /// This schedule where no part of a tile is done beside the next one.
    ScheduleAttr withoutDefer() const {
      ScheduleParameters parameters = getParameters();
      parameters.defer = false;
      return get(getContext(), parameters);
    }
    /// Rows of which a kernel gives moments together: a tile's, or with wgmma
    /// those of one instruction.
    int64_t getMomentRows() const {
      return getFamily() == KernelFamily::Wgmma ? 64 : getTile()[0];
    }
    /// Whether wgmma multiplies rows of w by those of x, and so gives the
    /// transposed product.
    bool hasSwappedOperands() const {
      return getFamily() == KernelFamily::Wgmma && getWarps()[0] == 1;
    }
    /// Whether x and w are what `tenon.split` gives.
    bool isSplit() const { return getMethodTraits().isSplit(); }
    MethodTraits getMethodTraits() const { return getTraits(getMethod()); }
  }];
}

def Tenon_TensorMapAttr : AttrDef<Tenon_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "What one TMA copy moves of a matrix";
  let description = [{
    | field         | meaning |
    |---------------|---------|
    | `box`         | rows x columns, in elements, of a row-major matrix that one copy moves; what lies outside of the matrix arrives as zeros |
    | `swizzle`     | bytes of a row in shared memory, over which 16-byte chunks are permuted: 32, 64 or 128 |
    | `rounds_tf32` | whether f32 elements are rounded to tf32 as they are copied |

    A `tenon.launch` names the maps of its first arguments in `tensor_maps`;
    `--tenon-host-to-llvm` has the runtime encode them.

    Example:

    ```mlir
    #tenon.tensor_map<box = 128x32, swizzle = 128, rounds_tf32 = true>
    ```

    Errors: another number of extents; an extent that is not between 1 and 256;
    another swizzle.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$box, "int64_t":$swizzle,
                        DefaultValuedParameter<"bool", "false">:$roundsTf32);
  let assemblyFormat = [{
    `<` `box` `=` custom<Extents>($box) `,` `swizzle` `=` $swizzle
    (`,` `rounds_tf32` `=` $roundsTf32^)? `>`
  }];
  let genVerifyDecl = 1;
}

#endif // TENON_DIALECT_TENON_IR_TENONATTRS_TD
