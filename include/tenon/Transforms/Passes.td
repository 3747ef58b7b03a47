//===- Passes.td - Passes on tensors -----------------------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TRANSFORMS_PASSES_TD
#define TENON_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

// The passes run on modules, not on functions in parallel: MLIR's remark engine
// has no lock.

def TenonFuseEpilogue : Pass<"tenon-fuse-epilogue", "::mlir::ModuleOp"> {
  let summary = "Fuse each linear layer with the ops that follow it";
  let description = [{
    Takes what follows a `tenon.linear` into the region of a
    `tenon.fused_linear`: its bias, any chain or DAG of ops that implement
    `ElementwiseEpilogueOp` or `ReductionEpilogueOp`, and `tenon.reduce_row`. A value that is also read
    outside becomes one more result. Before:

    ```mlir
    func.func @fuse_chain(%x: tensor<?x8192xf32>, %w: tensor<8192x8192xf32> {tenon.param},
                          %b: tensor<8192xf32> {tenon.param}) -> tensor<?x8192xf32> {
      %0 = tenon.linear %x, %w, %b
          : (tensor<?x8192xf32>, tensor<8192x8192xf32>, tensor<8192xf32>) -> tensor<?x8192xf32>
      %1 = tenon.mul %0, 2.0 : tensor<?x8192xf32>
      %2 = tenon.leaky_relu %1 {negative_slope = 0.1} : tensor<?x8192xf32>
      return %2 : tensor<?x8192xf32>
    }
    ```

    After:

    ```mlir
    func.func @fuse_chain(%x: tensor<?x8192xf32>, %w: tensor<8192x8192xf32> {tenon.param},
                          %b: tensor<8192xf32> {tenon.param}) -> tensor<?x8192xf32> {
      %0 = tenon.fused_linear %x, %w : tensor<?x8192xf32>, tensor<8192x8192xf32>
          epilogue(%acc: tensor<?x8192xf32>, %bias = %b: tensor<8192xf32>) -> tensor<?x8192xf32> {
        %1 = tenon.add %acc, %bias : tensor<?x8192xf32>, tensor<8192xf32>
        %2 = tenon.mul %1, 2.0 : tensor<?x8192xf32>
        %3 = tenon.leaky_relu %2 {negative_slope = 0.1} : tensor<?x8192xf32>
        tenon.yield %3 : tensor<?x8192xf32>
      }
      return %0 : tensor<?x8192xf32>
    }
    ```

    An op joins where all of this holds:

    - it is in the product's block, and its (first) result has the product's
      shape `[M, N]`, or `[M, 1]` where rows are reduced;
    - its other operands are available before the product, or come from ops
      without side effects that do not depend on it: these move up;
    - it reads no per-column result (`[N]`) of the same fused op, and does not
      reduce along another axis than that one.

    An elementwise op that computes an operand of the product's shape, for this
    epilogue alone, joins too: a residual that is scaled, converted or activated.

    An op that could join two products joins the later one in the block. A linear
    without bias and without such an op stays a `tenon.linear`. Dead ops are
    removed.

    With `--remarks-filter=tenon-fuse-epilogue` each fusion, made or missed, is a
    remark: which op, which product, the reason and a suggestion where it was
    missed, and the bytes of memory traffic saved or still spent (`BytesSaved`,
    `BytesSpent`; for dynamic M the bytes of one row, `BytesSavedPerRow`,
    `BytesSpentPerRow`).
  }];
  let options = [
    Option<"remarkMissed", "remark-missed", "bool", "true",
           "say why an op was not fused; not needed where the pass ran before">,
  ];
  let dependentDialects = ["::mlir::tenon::TenonDialect"];
}

def TenonUnfuse : Pass<"tenon-unfuse"> {
  let summary = "Take fused linear layers apart";
  let description = [{
    The inverse of `--tenon-fuse-epilogue`: a `tenon.linear` without bias, and the
    ops of the region after it. Before:

    ```mlir
    %0 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
        epilogue(%acc: tensor<?x32xf32>, %bias = %b: tensor<32xf32>) -> tensor<?x32xf32> {
      %1 = tenon.add %acc, %bias : tensor<?x32xf32>, tensor<32xf32>
      %2 = tenon.relu %1 : tensor<?x32xf32>
      tenon.yield %2 : tensor<?x32xf32>
    }
    ```

    After:

    ```mlir
    %0 = tenon.linear %x, %w : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
    %1 = tenon.add %0, %b : tensor<?x32xf32>, tensor<32xf32>
    %2 = tenon.relu %1 : tensor<?x32xf32>
    ```

    16-bit intermediates, which may stay in f32 inside a fused op, are rounded
    afterwards.
  }];
  let dependentDialects = ["::mlir::tenon::TenonDialect"];
}

def TenonHoistPrepare : Pass<"tenon-hoist-prepare", "::mlir::ModuleOp"> {
  let summary = "Move what depends on parameters alone to a prepare function";
  let description = [{
    Splits a function `@f` into `@f_prepare`, which runs once a version of the
    parameters, and `@f_run`. Before:

    ```mlir
    func.func @hoist(%x: tensor<?x64xf32>, %w: tensor<32x64xf32> {tenon.param},
                     %s: tensor<32xf32> {tenon.param}) -> tensor<?x32xf32> {
      %0 = tenon.mul %s, 2.0 : tensor<32xf32>
      %1 = tenon.linear %x, %w : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
      %2 = tenon.mul %1, %0 : tensor<?x32xf32>, tensor<32xf32>
      return %2 : tensor<?x32xf32>
    }
    ```

    After:

    ```mlir
    func.func @hoist_prepare(%s: tensor<32xf32> {tenon.param}) -> tensor<32xf32> {
      %0 = tenon.mul %s, 2.0 : tensor<32xf32>
      return %0 : tensor<32xf32>
    }
    func.func @hoist_run(%x: tensor<?x64xf32>, %w: tensor<32x64xf32> {tenon.param},
                         %0: tensor<32xf32> {tenon.prepared = 0 : i64}) -> tensor<?x32xf32>
        attributes {tenon.prepare = @hoist_prepare} {
      %1 = tenon.linear %x, %w : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
      %2 = tenon.mul %1, %0 : tensor<?x32xf32>, tensor<32xf32>
      return %2 : tensor<?x32xf32>
    }
    ```

    The arguments of `@f_run` are the activations, then the parameters that it
    still reads, then the prepared values, each group in its order; parameters
    that only `@f_prepare` reads go there, and so do those that nothing reads.
    Constants and reshapes are not hoisted but repeated, and a value that is only
    returned is computed where it is returned. A function with nothing to hoist
    keeps its name; so does one that others call, since they would have to pass
    the prepared values (a missed remark of category `tenon-hoist-prepare`).

    It is an error if `@f_prepare` or `@f_run` exists already.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def TenonSimplify : Pass<"tenon-simplify", "::mlir::ModuleOp"> {
  let summary = "Exact algebra on scales, biases, activations and batch norm";
  let description = [{
    Brings scales toward the linear layer that they follow, where the product can
    take them, and drops what batch norm cancels. Before:

    ```mlir
    func.func @scale_before_relu(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
      %0 = tenon.mul %x, 2.0 : tensor<?x32xf32>
      %1 = tenon.relu %0 : tensor<?x32xf32>
      %2 = tenon.mul %1, 3.0 : tensor<?x32xf32>
      return %2 : tensor<?x32xf32>
    }
    ```

    After:

    ```mlir
    func.func @scale_before_relu(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
      %0 = tenon.mul %x, 6.0 : tensor<?x32xf32>
      %1 = tenon.relu %0 : tensor<?x32xf32>
      return %1 : tensor<?x32xf32>
    }
    ```

    | rule | what | exact where |
    |------|------|-------------|
    | `MergeScalings` | two scalings by constants become one | one of them is a power of two |
    | `ScaleBeforeRelu` | a positive constant factor moves before relu, leaky_relu | relu: always; leaky_relu: the factor or the slope is a power of two |
    | `ScaleBeforeBatchNorm` | training batch norm cancels a constant scale but for its sign and `eps / s^2` | the scale is a power of two |
    | `CancelBias` | training batch norm cancels a bias `[N]`; `momentum * bias` is added to the new running mean | never |
    | `BatchNormInference` | with parameters for operands becomes a scale and a shift | never |
    | `FoldScale` | a parameter `[N]` after a linear multiplies the rows of w and the bias | never |

    Exact means: the same bits, unless a value overflows or becomes subnormal on
    the way. f16 overflows easily; there, only relu and scalings that both grow
    are exact. What is not exact needs `allow-rounding-changes`, and `FoldScale`
    needs `fold-weights`. No constant that a rule makes overflows, and none is
    applied where f16 would hold what it replaces, but not what it computes on the
    way. Values of parameters are not known: a weight times a scale, or a mean
    over a small deviation, that is more than f32 holds becomes infinite. Each rule needs the value that it takes away to be read
    once. A remark of category `tenon-simplify` says which rule was applied and
    whether rounding changes.
  }];
  let options = [
    Option<"allowRoundingChanges", "allow-rounding-changes", "bool",
           /*default=*/"false",
           "apply rules that are exact in real arithmetic, not in floating point">,
    Option<"foldWeights", "fold-weights", "bool", /*default=*/"false",
           "multiply scales that are parameters into the weights, which takes a "
           "second copy of them (f32 and f64; rounding changes)">,
    Option<"rescaleStatistics", "rescale-statistics", "bool",
           /*default=*/"false",
           "cancel scales ahead of batch norm also where running statistics must "
           "be rescaled, by four ops on [N]">,
  ];
  let dependentDialects = ["::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect",
                           "::mlir::tenon::TenonDialect"];
}

#endif // TENON_TRANSFORMS_PASSES_TD
