//===- TenonOps.td - Ops of the tenon dialect --------------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONOPS_TD
#define TENON_DIALECT_TENON_IR_TENONOPS_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "tenon/Dialect/Tenon/IR/TenonBatchNormOps.td"
include "tenon/Dialect/Tenon/IR/TenonElementwiseOps.td"
include "tenon/Dialect/Tenon/IR/TenonLaunchOp.td"
include "tenon/Dialect/Tenon/IR/TenonProductMomentsOp.td"
include "tenon/Dialect/Tenon/IR/TenonReduceRowOp.td"
include "tenon/Dialect/Tenon/IR/TenonResidentBlocksOp.td"
include "tenon/Dialect/Tenon/IR/TenonScaleBlocksOp.td"
include "tenon/Dialect/Tenon/IR/TenonSplitOp.td"
include "tenon/Dialect/Tenon/IR/TenonTiledLinearOp.td"
include "tenon/Dialect/Tenon/IR/TenonWithSplitOp.td"

//===----------------------------------------------------------------------===//
// linear
//===----------------------------------------------------------------------===//

def Tenon_LinearOp : Tenon_Op<"linear", [
    DeclareOpInterfaceMethods<Tenon_LinearLikeOp, ["getProductType", "getEpilogueBody"]>]> {
  let summary = "A linear layer, `x w^T (+ bias)`";
  let description = [{
    `result[m, n] = sum_k x[m, k] * w[n, k] + bias[n]`, accumulated in f32 (f64
    for f64 tensors) and rounded once. `precision` says how accurate a product of
    f32 tensors must be and defaults to `fp32`; products of other types have
    their type's own precision and take no attribute. `strategy` and `schedule` say
    how the layer is computed on a GPU (`--tenon-select-strategy`), not what.
    `layout` says where x is `[K, M]` or w `[K, N]` instead; the default is `mk_nk`.

    Requires: x `[M, K]`, w `[N, K]` static, both of one element type; bias `[N]`;
    x `[K, M]` static too. Gives: `[M, N]` of x's element type, or of f32 where x is
    f16 or bf16, and always where it is of 8 bits.

    Example:

    ```mlir
    %y = tenon.linear %x, %w, %b precision<tf32>
        : (tensor<?x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<?x32xf32>
    %dw = tenon.linear %dy, %x layout<km_kn>
        : (tensor<16x32xf32>, tensor<16x64xf32>) -> tensor<32x64xf32>
    ```

    Errors: K of x and w differ; x `[K, M]` of dynamic shape; bias or result of another extent; element types
    that differ; `precision` on tensors that are not f32.
  }];
  let arguments = (ins Tenon_Matrix:$x, Tenon_Weight:$w,
                       Optional<Tenon_Features>:$bias,
                       OptionalAttr<Tenon_PrecisionAttr>:$precision,
                       OptionalAttr<Tenon_OperandLayoutAttr>:$layout,
                       OptionalAttr<Tenon_StrategyAttr>:$strategy,
                       OptionalAttr<Tenon_ScheduleAttr>:$schedule);
  let results = (outs Tenon_Matrix:$result);
  let assemblyFormat = [{
    $x `,` $w (`,` $bias^)? (`precision` `` $precision^)? (`layout` `` $layout^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let builders = [
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$x, "::mlir::Value":$w,
                   "::mlir::Value":$bias, "::mlir::tenon::PrecisionAttr":$precision),
              [{ build($_builder, $_state, result, x, w, bias, precision, {}, {}, {}); }]>,
  ];
}

//===----------------------------------------------------------------------===//
// fused_linear
//===----------------------------------------------------------------------===//

def Tenon_FusedLinearOp : Tenon_Op<"fused_linear", [
    IsolatedFromAbove, SingleBlock,
    SingleBlockImplicitTerminator<"::mlir::tenon::YieldOp">,
    DeclareOpInterfaceMethods<Tenon_LinearLikeOp, ["getProductType", "getEpilogueBody"]>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "A linear layer with all that follows it";
  let description = [{
    The region holds the ops that followed the layer, as they were. Its first
    argument is the product `x w^T`, without bias; the others are the epilogue's
    operands; it yields the results, several where a value is also used outside.
    What it computes is what inlining the region after a `tenon.linear` computes
    (`--tenon-unfuse`), but 16-bit intermediates may stay in f32.

    Requires: x, w and `layout` as in `tenon.linear`; only ops that implement
    `ElementwiseEpilogueOp` or `ReductionEpilogueOp`, or `tenon.reduce_row`, in the
    region. `precision`, `strategy` and `schedule` as in `tenon.linear`. Gives: one
    result for each yielded value, of its type.

    Example:

    ```mlir
    %y = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
        epilogue(%acc: tensor<?x32xf32>, %bias = %b: tensor<32xf32>)
        -> tensor<?x32xf32> {
      %0 = tenon.add %acc, %bias : tensor<?x32xf32>, tensor<32xf32>
      %1 = tenon.relu %0 : tensor<?x32xf32>
      tenon.yield %1 : tensor<?x32xf32>
    }
    ```

    Errors: as `tenon.linear`; a product argument that is not `[M, N]`; an op in
    the region that cannot be in an epilogue; yielded types that differ from the
    results.
  }];
  let arguments = (ins Tenon_Matrix:$x, Tenon_Weight:$w,
                       Variadic<Tenon_Tensor>:$epilogue_operands,
                       OptionalAttr<Tenon_PrecisionAttr>:$precision,
                       OptionalAttr<Tenon_OperandLayoutAttr>:$layout,
                       OptionalAttr<Tenon_StrategyAttr>:$strategy,
                       OptionalAttr<Tenon_ScheduleAttr>:$schedule);
  let results = (outs Variadic<Tenon_Tensor>:$results);
  let regions = (region SizedRegion<1>:$epilogue);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let hasCanonicalizer = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // An op whose region yields the product, of type `accumulator`, unchanged.
    OpBuilder<(ins "::mlir::Value":$x, "::mlir::Value":$w,
                   "::mlir::Type":$accumulator,
                   "::mlir::tenon::PrecisionAttr":$precision)>,
    // An op with an empty region.
    OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::Value":$x,
                   "::mlir::Value":$w, "::mlir::ValueRange":$epilogueOperands,
                   "::mlir::tenon::PrecisionAttr":$precision)>,
  ];
  let extraClassDeclaration = [{
    /// The region's first argument, the product.
    BlockArgument getAccumulator() { return getBody()->getArgument(0); }
    /// The region's argument that stands for an epilogue operand.
    BlockArgument getArgumentOf(OpOperand &operand) {
      return getBody()->getArgument(operand.getOperandNumber() - 1);
    }
    YieldOp getYield();
  }];
}

def Tenon_YieldOp : Tenon_Op<"yield", [Terminator, ReturnLike,
                                       ParentOneOf<["FusedLinearOp", "EpilogueOp", "TiledLinearOp"]>]> {
  let summary = "Ends a fused op's region with its results";
  let description = [{
    Requires one operand for each result of the parent, of its type. Gives
    nothing.

    Example:

    ```mlir
    tenon.yield %0, %1 : tensor<?x32xf32>, tensor<?x32xf32>
    ```

    Errors (found by the parent): a count or a type that differs.
  }];
  let arguments = (ins Variadic<Tenon_Tensor>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // TENON_DIALECT_TENON_IR_TENONOPS_TD
