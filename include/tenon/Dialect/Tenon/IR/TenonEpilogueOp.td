//===- TenonEpilogueOp.td - An epilogue by itself ----------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONEPILOGUEOP_TD
#define TENON_DIALECT_TENON_IR_TENONEPILOGUEOP_TD

include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "tenon/Dialect/Tenon/IR/TenonOpBase.td"

def Tenon_MemRef : MemRefRankOf<[Tenon_Float], [0, 1, 2]>;
def Tenon_TensorOrMemRef : AnyTypeOf<[Tenon_Tensor, Tenon_MemRef]>;

def Tenon_EpilogueOp : Op<Tenon_Dialect, "epilogue", [
    AttrSizedOperandSegments, IsolatedFromAbove, SingleBlock,
    SingleBlockImplicitTerminator<"::mlir::tenon::YieldOp">,
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Epilogue ops on a product that is in memory";
  let description = [{
    What a matrix library cannot do after its product: the region of a
    `tenon.fused_linear`, applied to operands in memory and written to `outs`. Its
    arguments stand for the inputs, and are tensors also where these are memrefs;
    it yields one value for each output. An input may be the buffer of an output,
    so that a product is finished in place. 16-bit intermediates stay in f32.

    On tensors it gives one result for each output; on memrefs none. One kernel,
    or one for each reduction and one more, comes of it (`--tenon-emit-kernels`).

    Requires: all operands tensors or all memrefs; in the region ops that
    implement `ElementwiseEpilogueOp` or `ReductionEpilogueOp`, elementwise ops of
    other dialects, and splat constants.

    Example:

    ```mlir
    %1 = tenon.epilogue ins(%acc = %0: tensor<?x32xf32>, %bias = %b: tensor<32xf32>)
        outs(%0: tensor<?x32xf32>) -> tensor<?x32xf32> {
      %2 = tenon.add %acc, %bias : tensor<?x32xf32>, tensor<32xf32>
      %3 = tenon.mish %2 : tensor<?x32xf32>
      tenon.yield %3 : tensor<?x32xf32>
    }
    ```

    Errors: tensors mixed with memrefs; an argument or a yielded value that
    differs from its operand or output; an op that cannot be in an epilogue.
  }];
  let arguments = (ins Variadic<Tenon_TensorOrMemRef>:$inputs,
                       Variadic<Tenon_TensorOrMemRef>:$outputs);
  let results = (outs Variadic<Tenon_Tensor>:$results);
  let regions = (region SizedRegion<1>:$epilogue);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // An op with an empty region; its results are the outputs that are tensors.
    OpBuilder<(ins "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$outputs)>,
  ];
  let extraClassDeclaration = [{
    YieldOp getYield();
    bool isOnTensors();
    MutableOperandRange getDpsInitsMutable() { return getOutputsMutable(); }
    /// The tensor type of a tensor or memref.
    static RankedTensorType getTensorType(Type type);
  }];
}

#endif // TENON_DIALECT_TENON_IR_TENONEPILOGUEOP_TD
