//===- TenonInterfaces.td - How ops take part in an epilogue -*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONINTERFACES_TD
#define TENON_DIALECT_TENON_IR_TENONINTERFACES_TD

include "mlir/IR/OpBase.td"

def Tenon_ElementwiseEpilogueOp : OpInterface<"ElementwiseEpilogueOp"> {
  let description = [{
    An op whose result at `[m, n]` depends on its operands at `[m, n]` alone,
    after broadcasting. Every back end emits it through this one method, on the
    registers that hold the product or on elements loaded from memory.
  }];
  let cppNamespace = "::mlir::tenon";
  let methods = [
    InterfaceMethod<
      [{Emits the op on scalars. `operands` holds one value for each tensor
        operand, all of one float type: f32, or f64 where the op's tensors are
        f64. Returns a value of that type.}],
      "::mlir::Value", "emitScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::ValueRange":$operands)>,
    InterfaceMethod<
      "What cuBLASLt has for the op in a product's epilogue, its place aside.",
      "::mlir::tenon::LibraryPart", "getLibraryPart", (ins), "",
      "return ::mlir::tenon::LibraryPart::None;">,
  ];
}

/// Is made of exp, log, erf or tanh: many instructions an element, and code that
/// takes long to compile.
def Tenon_Transcendental : NativeOpTrait<"Transcendental"> {
  let cppNamespace = "::mlir::OpTrait::tenon";
}
/// Divides, which takes many instructions and registers of its own.
def Tenon_Divides : NativeOpTrait<"Divides"> {
  let cppNamespace = "::mlir::OpTrait::tenon";
}

def Tenon_LinearLikeOp : OpInterface<"LinearLikeOp"> {
  let description = [{
    A product `x w^T` and what follows it: `linear` with its bias, or
    `fused_linear` with its region. How x and w lie, and what is said of how the
    layer is computed, stays with it when one op takes the place of another.
  }];
  let cppNamespace = "::mlir::tenon";
  let methods = [
    InterfaceMethod<"[M, K], or [K, M] by the layout.",
      "::mlir::TypedValue<::mlir::RankedTensorType>", "getX">,
    InterfaceMethod<"[N, K], or [K, N] by the layout.",
      "::mlir::TypedValue<::mlir::RankedTensorType>", "getW">,
    InterfaceMethod<"The type of the product, [M, N], before what follows it.",
      "::mlir::RankedTensorType", "getProductType">,
    InterfaceMethod<"What is read beside x and w: a bias, or the epilogue's operands.",
      "::mlir::OperandRange", "getEpilogueInputs", (ins), "",
      [{ return $_op->getOperands().drop_front(2); }]>,
    InterfaceMethod<"The ops that follow the product; null where there is at most a bias.",
      "::mlir::Block *", "getEpilogueBody">,
    InterfaceMethod<"How accurate a product of f32 must be; none: fp32.",
      "::std::optional<::mlir::tenon::Precision>", "getPrecision">,
    InterfaceMethod<"The same as an attribute.",
      "::mlir::tenon::PrecisionAttr", "getPrecisionAttr">,
    InterfaceMethod<"Sets it; null removes it.",
      "void", "setPrecisionAttr", (ins "::mlir::tenon::PrecisionAttr":$precision)>,
    InterfaceMethod<"How x and w lie; none: [M, K] and [N, K].",
      "::std::optional<::mlir::tenon::OperandLayout>", "getLayout">,
    InterfaceMethod<"The same as an attribute.",
      "::mlir::tenon::OperandLayoutAttr", "getLayoutAttr">,
    InterfaceMethod<"Sets it; null removes it.",
      "void", "setLayoutAttr", (ins "::mlir::tenon::OperandLayoutAttr":$layout)>,
    InterfaceMethod<"How the layer is computed on a GPU; none: not chosen yet.",
      "::std::optional<::mlir::tenon::Strategy>", "getStrategy">,
    InterfaceMethod<"Sets it; none removes it.",
      "void", "setStrategy",
      (ins "::std::optional<::mlir::tenon::Strategy>":$strategy)>,
    InterfaceMethod<"How its tiled kernel works; null: not chosen yet.",
      "::mlir::tenon::ScheduleAttr", "getScheduleAttr">,
    InterfaceMethod<"Sets it; null removes it.",
      "void", "setScheduleAttr", (ins "::mlir::tenon::ScheduleAttr":$schedule)>,
  ];
  let extraSharedClassDeclaration = [{
    ::mlir::Type getInputType() { return $_op.getX().getType().getElementType(); }
    ::mlir::tenon::ProductExtents getExtents() {
      return ::mlir::tenon::getProductExtents(
          $_op.getX().getType(), $_op.getW().getType(), $_op.getLayout());
    }
    int64_t getK() { return getExtents().k; }
    /// Whether f32 has to be multiplied as precisely as SGEMM does.
    bool isFp32() {
      return getInputType().isF32() &&
             $_op.getPrecision().value_or(::mlir::tenon::Precision::FP32) ==
                 ::mlir::tenon::Precision::FP32;
    }
    /// Takes over what `other`, in whose place this op comes, says of how its
    /// operands lie and of how it is computed, and its discardable attributes.
    void inherit(::mlir::tenon::LinearLikeOp other) {
      $_op.setLayoutAttr(other.getLayoutAttr());
      $_op.setStrategy(other.getStrategy());
      $_op.setScheduleAttr(other.getScheduleAttr());
      $_op->setDiscardableAttrs(other->getDiscardableAttrDictionary());
    }
  }];
}

def Tenon_ReductionEpilogueOp : OpInterface<"ReductionEpilogueOp"> {
  let description = [{
    An op that reduces its input along M, and may then map the input with what
    the reduction gave. How the reduction runs (in a tile's registers,
    across thread blocks, through memory) is the strategy's choice; the op gives
    its arithmetic on scalars.

    The *state* of a set of elements is a short list of scalars; the set's size,
    `count`, is kept apart since it is the same for all columns.
  }];
  let cppNamespace = "::mlir::tenon";
  let methods = [
    InterfaceMethod<"The tensor that is reduced and then mapped.",
      "::mlir::Value", "getReducedInput">,
    InterfaceMethod<"The mapped input, the first result; null where op only reduces.",
      "::mlir::Value", "getMapped">,
    InterfaceMethod<
      "The results with one value for each reduced column: all but the mapped input.",
      "::mlir::ResultRange", "getColumnResults">,
    InterfaceMethod<
      "The operands with one value for each reduced column, in operand order.",
      "::llvm::SmallVector<::mlir::Value>", "getColumnOperands">,
    InterfaceMethod<"Number of scalars in a state.",
      "unsigned", "getStateSize">,
    InterfaceMethod<"The state of the empty set, in the given float type.",
      "::llvm::SmallVector<::mlir::Value>", "emitInit",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Type":$type)>,
    InterfaceMethod<"The state of a few elements held in registers (at least 1).",
      "::llvm::SmallVector<::mlir::Value>", "emitChunk",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::ValueRange":$elements)>,
    InterfaceMethod<
      [{The state of a set, in one pass, from its elements' distances to a number
        amid them. `count`, a float that may be 0, says how many elements there
        are; a distance may be left out, or one be there too much, where it is
        0.}],
      "::llvm::SmallVector<::mlir::Value>", "emitDistances",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$count, "::mlir::ValueRange":$distances)>,
    InterfaceMethod<
      [{The state of the union of two disjoint sets. The counts are floats of the
        states' type; either may be 0, the state is then the other one's.}],
      "::llvm::SmallVector<::mlir::Value>", "emitCombine",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$lhsCount, "::mlir::ValueRange":$lhs,
           "::mlir::Value":$rhsCount, "::mlir::ValueRange":$rhs)>,
    InterfaceMethod<
      [{A number amid a set's elements, from its state. States that are to be
        combined are first moved by what it is for one of them, downwards: where
        elements are far from zero but near each other, scalars then keep digits
        that rounding would take. One of the empty set is 0. Null where states
        combine as they are; then they are not moved, and have no distances.}],
      "::mlir::Value", "getOrigin", (ins "::mlir::ValueRange":$state)>,
    InterfaceMethod<
      "The state of a set all of whose elements are larger by `amount`.",
      "::llvm::SmallVector<::mlir::Value>", "emitMove",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::ValueRange":$state, "::mlir::Value":$amount)>,
    InterfaceMethod<
      [{Ends a reduction: from the state of a whole column and the column
        operands, the scalars that `emitApply` needs.}],
      "::llvm::SmallVector<::mlir::Value>", "emitFinish",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$count, "::mlir::ValueRange":$state,
           "::mlir::ValueRange":$columnOperands)>,
    InterfaceMethod<
      [{The values of `getColumnResults` in a column, from the same values as
        `emitFinish`.}],
      "::llvm::SmallVector<::mlir::Value>", "emitColumnResults",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$count, "::mlir::ValueRange":$state,
           "::mlir::ValueRange":$columnOperands)>,
    InterfaceMethod<
      "Maps one element with what `emitFinish` gave; not called where op only reduces.",
      "::mlir::Value", "emitApply",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$element, "::mlir::ValueRange":$finished)>,
  ];
}

#endif // TENON_DIALECT_TENON_IR_TENONINTERFACES_TD
