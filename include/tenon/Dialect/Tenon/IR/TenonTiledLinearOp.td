//===- TenonTiledLinearOp.td - A layer as one kernel -------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONTILEDLINEAROP_TD
#define TENON_DIALECT_TENON_IR_TENONTILEDLINEAROP_TD

include "tenon/Dialect/Tenon/IR/TenonEpilogueOp.td"

def Tenon_Workspace : AnyTypeOf<[1DTensorOf<[I8]>, MemRefRankOf<[I8], [1]>]>;

def Tenon_TiledLinearOp : Op<Tenon_Dialect, "tiled_linear", [
    AttrSizedOperandSegments, IsolatedFromAbove, SingleBlock,
    SingleBlockImplicitTerminator<"::mlir::tenon::YieldOp">,
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "A linear layer and its epilogue as one tiled kernel";
  let description = [{
    What a `tenon.fused_linear` becomes when its strategy is `tiled`: x, w and the
    epilogue's operands in memory, results written to `outs`. The region's first
    argument is the product `x w^T`, accumulated in f32; the others stand for the
    inputs, and are tensors also where these are memrefs. Products of f32 are
    rounded to tf32: x by the kernel, w before (`tenon.round_tf32`). A schedule
    with `stream_k` keeps partial tiles in the workspace.

    On tensors it gives one result for each output; on memrefs none. One kernel
    comes of it (`--tenon-emit-kernels`).

    Requires: all operands tensors or all memrefs; x `[M, K]`, w `[N, K]` of f16,
    bf16 or f32; in the region ops that implement `ElementwiseEpilogueOp`; a
    workspace with `stream_k`.

    Example:

    ```mlir
    %1 = tenon.tiled_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
        epilogue(%acc: tensor<?x32xf32>, %bias = %b: tensor<32xf32>)
        outs(%0: tensor<?x32xbf16>) workspace(%ws: tensor<1024xi8>)
        schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>
        -> tensor<?x32xbf16> {
      %2 = tenon.add %acc, %bias : tensor<?x32xf32>, tensor<32xf32>
      %3 = tenon.cast %2 : tensor<?x32xf32> to tensor<?x32xbf16>
      tenon.yield %3 : tensor<?x32xbf16>
    }
    ```

    Errors: tensors mixed with memrefs; x and w of other shapes or types; an
    argument or a yielded value that differs from its operand or output; an op
    that cannot be in the epilogue; `stream_k` without a workspace.
  }];
  let arguments = (ins Tenon_TensorOrMemRef:$x, Tenon_TensorOrMemRef:$w,
                       Variadic<Tenon_TensorOrMemRef>:$inputs,
                       Variadic<Tenon_TensorOrMemRef>:$outputs,
                       Optional<Tenon_Workspace>:$workspace,
                       Tenon_ScheduleAttr:$schedule);
  let results = (outs Variadic<Tenon_Tensor>:$results);
  let regions = (region SizedRegion<1>:$epilogue);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // An op with an empty region; its results are the outputs that are tensors.
    OpBuilder<(ins "::mlir::Value":$x, "::mlir::Value":$w,
                   "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$outputs,
                   "::mlir::Value":$workspace,
                   "::mlir::tenon::ScheduleAttr":$schedule)>,
  ];
  let extraClassDeclaration = [{
    YieldOp getYield();
    bool isOnTensors();
    /// The region's first argument, the product.
    BlockArgument getAccumulator() { return getBody()->getArgument(0); }
    MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
  }];
}

#endif // TENON_DIALECT_TENON_IR_TENONTILEDLINEAROP_TD
