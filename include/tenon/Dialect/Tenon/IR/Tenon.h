//===- Tenon.h - The tenon dialect ------------------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENON_H
#define TENON_DIALECT_TENON_IR_TENON_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tenon/Dialect/Tenon/IR/TenonDialect.h.inc"
#include "tenon/Dialect/Tenon/IR/TenonEnums.h.inc"

#include "tenon/Dialect/Tenon/IR/MethodTraits.h"
#include "tenon/Dialect/Tenon/IR/ProductExtents.h"
#include "tenon/Dialect/Tenon/IR/ScheduleParameters.h"

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/Tenon/IR/TenonAttrs.h.inc"

namespace mlir::tenon {
/// What a matrix library computes together with a product. `None`: not this.
enum class LibraryPart { None, Scale, Addend, Relu, GeluTanh };
} // namespace mlir::tenon

#include "tenon/Dialect/Tenon/IR/TenonInterfaces.h.inc"

namespace mlir::OpTrait::tenon {
template <typename OpTy>
class Transcendental : public TraitBase<OpTy, Transcendental> {};
template <typename OpTy> class Divides : public TraitBase<OpTy, Divides> {};
} // namespace mlir::OpTrait::tenon

namespace mlir::tenon {

/// The float type in which arithmetic on tensors of `elementType` is carried
/// out: f64 for f64, f32 for everything else.
FloatType getComputeType(Type elementType);

/// The shape of two shapes broadcast as in NumPy, where a dynamic extent
/// matches only another dynamic extent or 1; nothing if they do not broadcast.
std::optional<SmallVector<int64_t>> broadcastShapes(ArrayRef<int64_t> lhs,
                                                    ArrayRef<int64_t> rhs);

namespace detail {
/// Whether no extent is 0, only the first of two is dynamic, there is no
/// encoding, and the size in bytes fits into an int64.
bool hasSupportedShape(RankedTensorType type);

/// Whether all of an op's attributes that are numbers are finite; says which is
/// not.
LogicalResult verifyFinite(Operation *op);

// Shared by all binary ops (TenonOpBase.td).
LogicalResult inferBroadcast(std::optional<Location> loc, StringRef opName,
                             ValueRange operands, SmallVectorImpl<Type> &types);
ParseResult parseBinary(OpAsmParser &parser, OperationState &result);
void printBinary(OpAsmPrinter &printer, Operation *op);
LogicalResult verifyBinary(Operation *op);
// Lets one-shot bufferization see `tenon.epilogue` and `tenon.tiled_linear`;
// called by the dialect.
void attachEpilogueBufferization(MLIRContext &context);
} // namespace detail

} // namespace mlir::tenon

#define GET_OP_CLASSES
#include "tenon/Dialect/Tenon/IR/TenonOps.h.inc"

namespace mlir::tenon {

/// Why no kernel multiplies elements of this type by `method`: "method fma
/// multiplies f32"; "" if one does.
std::string findElementProblem(ProductMethod method, Type elementType);

/// What scales the blocks of a layer's x and w, or nothing where a kernel
/// cannot take their bytes instead (scale_blocks in TenonScaleBlocksOp.td).
struct ScaledOperands {
  ScaleBlocksOp x, w;
  explicit operator bool() const { return x && w; }
};
ScaledOperands findScaledOperands(LinearLikeOp layer);

/// The elements that `method` multiplies of a layer: those of x and w, or of
/// the bytes that they are made of.
Type getMultipliedType(LinearLikeOp layer, ProductMethod method);

/// `layer` as a fused op, which takes its place: a bias is added in the region.
FusedLinearOp toFused(LinearLikeOp layer, RewriterBase &rewriter);

} // namespace mlir::tenon

#endif // TENON_DIALECT_TENON_IR_TENON_H
