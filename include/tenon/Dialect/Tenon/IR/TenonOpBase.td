//===- TenonOpBase.td - Types and classes shared by ops ----*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONOPBASE_TD
#define TENON_DIALECT_TENON_IR_TENONOPBASE_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tenon/Dialect/Tenon/IR/TenonAttrs.td"
include "tenon/Dialect/Tenon/IR/TenonInterfaces.td"

def Tenon_Float : AnyTypeOf<[F32, F16, BF16, F64, F8E4M3FN, F8E5M2],
                            "f32, f16, bf16, f64, f8E4M3FN or f8E5M2">;

// types-C1 is rank and element type; types-C2 to types-C5, what shapes a tensor may have beside its rank.
def Tenon_ShapePred : CPred<
    "::mlir::tenon::detail::hasSupportedShape("
    "::llvm::cast<::mlir::RankedTensorType>($_self))">;
class Tenon_TensorOfRank<list<int> ranks, string what>
    : ConfinedType<TensorRankOf<[Tenon_Float], ranks>, [Tenon_ShapePred],
                   !strconcat(what, " of ", Tenon_Float.summary,
                              " (no extent 0, only M dynamic, no encoding)"),
                   "::mlir::RankedTensorType">;

/// A tensor of rank 0, 1 or 2: a scalar, one value a feature, or a matrix.
def Tenon_Tensor : Tenon_TensorOfRank<[0, 1, 2], "tensor of rank 0 to 2">;
def Tenon_Matrix : Tenon_TensorOfRank<[2], "matrix">;
/// One value a feature, [N].
def Tenon_Features : Tenon_TensorOfRank<[1], "vector [N]">;
/// A parameter matrix: N and K are known when the model is compiled.
def Tenon_Weight : ConfinedType<
    Tenon_Matrix, [HasStaticShapePred],
    !strconcat("statically shaped matrix [N, K] of ", Tenon_Float.summary,
               " (no extent 0, no encoding)"), "::mlir::RankedTensorType">;

class Tenon_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tenon_Dialect, mnemonic, !listconcat(traits, [Pure])>;

/// An op on one tensor, element by element. `methods` are those of the
/// interface's methods with a default that the op has of its own.
class Tenon_UnaryOp<string mnemonic, list<Trait> traits = [],
                    list<string> methods = []>
    : Tenon_Op<mnemonic, !listconcat(traits, [
        SameOperandsAndResultType,
        DeclareOpInterfaceMethods<Tenon_ElementwiseEpilogueOp, methods>])> {
  let arguments = (ins Tenon_Tensor:$input);
  let results = (outs Tenon_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

// What the description of every binary op says.
defvar broadcasting = [{
    The other side is a constant, or a tensor of rank 0, `[N]`, `[M, 1]` or
    `[M, N]`; shapes broadcast from the trailing dimension as in NumPy, and a
    dynamic extent matches only another dynamic extent or 1. The result has the
    element type of the first tensor operand; f64 goes with f64 only.

    Errors: shapes that do not broadcast; f64 with another element type; both or
    neither of a tensor and a constant.

}];

/// An op on two tensors, or a tensor and a constant, with broadcasting.
class Tenon_BinaryOp<string mnemonic, list<Trait> traits = [],
                     list<string> methods = []>
    : Tenon_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<InferTypeOpInterface>,
        DeclareOpInterfaceMethods<Tenon_ElementwiseEpilogueOp, methods>])> {
  let arguments = (ins Tenon_Tensor:$input, Optional<Tenon_Tensor>:$other,
                       OptionalAttr<F64Attr>:$scalar, UnitAttr:$scalar_first);
  let results = (outs Tenon_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$other), [{
      build($_builder, $_state, input, other, ::mlir::FloatAttr(),
            /*scalar_first=*/::mlir::UnitAttr());
    }]>,
    OpBuilder<(ins "::mlir::Value":$input, "double":$scalar), [{
      build($_builder, $_state, input, ::mlir::Value(),
            $_builder.getF64FloatAttr(scalar),
            /*scalar_first=*/::mlir::UnitAttr());
    }]>,
  ];
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, std::optional<::mlir::Location> loc,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr,
        ::mlir::OpaqueProperties, ::mlir::RegionRange,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mlir::tenon::detail::inferBroadcast(
          loc, getOperationName(), operands, types);
    }
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser,
                                         ::mlir::OperationState &result) {
      return ::mlir::tenon::detail::parseBinary(parser, result);
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) {
      ::mlir::tenon::detail::printBinary(printer, *this);
    }
    ::llvm::LogicalResult $cppClass::verify() {
      return ::mlir::tenon::detail::verifyBinary(*this);
    }
  }];
}

#endif // TENON_DIALECT_TENON_IR_TENONOPBASE_TD
