//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A builder of scalar arithmetic, addresses and inline PTX for kernels.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EMIT_KERNELBUILDER_H
#define TENON_LIB_CODEGEN_CUDA_EMIT_KERNELBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tenon {

/// Builds at one location. Integers are i32 unless a name says otherwise, and
/// are never negative where the name of an op does not say "Signed".
class KernelBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value i32(int64_t value) {
    return arith::ConstantOp::create(*this, getI32IntegerAttr(value));
  }
  Value i64(int64_t value) {
    return arith::ConstantOp::create(*this, getI64IntegerAttr(value));
  }
  Value f32(float value) {
    return arith::ConstantOp::create(*this, getF32FloatAttr(value));
  }
  /// A constant of a float type.
  Value real(Type type, double value) {
    return arith::ConstantOp::create(*this, getFloatAttr(type, value));
  }
  /// A constant of `like`'s type.
  Value constant(int64_t value, Value like) {
    return arith::ConstantOp::create(*this,
                                     getIntegerAttr(like.getType(), value));
  }

  Value add(Value a, Value x) { return arith::AddIOp::create(*this, a, x); }
  Value add(Value a, int64_t x) { return add(a, constant(x, a)); }
  Value sub(Value a, Value x) { return arith::SubIOp::create(*this, a, x); }
  Value sub(Value a, int64_t x) { return sub(a, constant(x, a)); }
  Value mul(Value a, Value x) { return arith::MulIOp::create(*this, a, x); }
  Value mul(Value a, int64_t x) { return mul(a, constant(x, a)); }
  Value div(Value a, Value x) { return arith::DivUIOp::create(*this, a, x); }
  Value div(Value a, int64_t x) { return div(a, constant(x, a)); }
  Value rem(Value a, Value x) { return arith::RemUIOp::create(*this, a, x); }
  Value rem(Value a, int64_t x) { return rem(a, constant(x, a)); }
  Value ceilDiv(Value a, int64_t x) { return div(add(a, x - 1), x); }
  Value bitAnd(Value a, int64_t x) {
    return arith::AndIOp::create(*this, a, constant(x, a));
  }
  Value bitOr(Value a, Value x) { return arith::OrIOp::create(*this, a, x); }
  Value bitXor(Value a, Value x) { return arith::XOrIOp::create(*this, a, x); }
  Value bitXor(Value a, int64_t x) { return bitXor(a, constant(x, a)); }
  Value shiftLeft(Value a, int64_t x) {
    return arith::ShLIOp::create(*this, a, constant(x, a));
  }
  Value shiftRight(Value a, int64_t x) {
    return arith::ShRUIOp::create(*this, a, constant(x, a));
  }
  Value min(Value a, Value x) { return arith::MinUIOp::create(*this, a, x); }
  Value minSigned(Value a, Value x) {
    return arith::MinSIOp::create(*this, a, x);
  }
  Value maxSigned(Value a, Value x) {
    return arith::MaxSIOp::create(*this, a, x);
  }

  Value less(Value a, Value x) { return compare(Predicate::slt, a, x); }
  Value less(Value a, int64_t x) { return less(a, constant(x, a)); }
  Value equal(Value a, Value x) { return compare(Predicate::eq, a, x); }
  Value equal(Value a, int64_t x) { return equal(a, constant(x, a)); }
  Value both(Value a, Value x) { return arith::AndIOp::create(*this, a, x); }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(*this, condition, yes, no);
  }
  /// An i1 as an i32, for inline PTX.
  Value toI32(Value condition) {
    return arith::ExtUIOp::create(*this, getI32Type(), condition);
  }
  Value toI64(Value value) {
    return arith::ExtUIOp::create(*this, getI64Type(), value);
  }
  Value toI64Signed(Value value) {
    return arith::ExtSIOp::create(*this, getI64Type(), value);
  }

  /// The value that another lane has.
  Value shuffleFrom(Value value, Value lane) {
    return NVVM::ShflOp::create(*this, value.getType(), i32(-1), value, lane,
                                i32(31), NVVM::ShflKind::idx, UnitAttr());
  }
  /// The value of the lane of the warp whose number differs in the bits of
  /// `mask`; all lanes take part.
  Value shuffleXor(Value value, int64_t mask) {
    return NVVM::ShflOp::create(*this, value.getType(), i32(-1), value,
                                i32(mask), i32(31), NVVM::ShflKind::bfly,
                                UnitAttr());
  }

  /// Loads 8x8 matrices of 16 bits, which lie row by row or column by column,
  /// as ldmatrix spreads them over a warp: a struct of `count` i32, 2 or 4.
  Value loadMatrices(Value sharedPointer, unsigned count,
                     NVVM::MMALayout layout) {
    auto type = LLVM::LLVMStructType::getLiteral(
        getContext(), SmallVector<Type>(count, getI32Type()));
    return NVVM::LdMatrixOp::create(
        *this, type, sharedPointer, count, layout,
        NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8),
        NVVM::LdStMatrixEltType::B16);
  }
  /// Stores such matrices, each of one of `words`.
  void storeMatrices(Value sharedPointer, ValueRange words,
                     NVVM::MMALayout layout) {
    NVVM::StMatrixOp::create(*this, sharedPointer, words, layout,
                             NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8),
                             NVVM::LdStMatrixEltType::B16);
  }

  /// A pointer and a number of bytes.
  Value offset(Value pointer, Value bytes) {
    return LLVM::GEPOp::create(*this, pointer.getType(), getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{bytes});
  }
  Value offset(Value pointer, int64_t bytes) {
    return bytes == 0 ? pointer : offset(pointer, i64(bytes));
  }
  /// An address in shared memory as PTX takes it.
  Value toAddress(Value sharedPointer) {
    return LLVM::PtrToIntOp::create(*this, getI32Type(), sharedPointer);
  }
  /// The pointer of such an address.
  Value toSharedPointer(Value address) {
    auto type = LLVM::LLVMPointerType::get(
        getContext(), static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared));
    return LLVM::IntToPtrOp::create(*this, type, address);
  }

  /// PTX without a result, which is never removed or moved across another.
  void ptx(StringRef text, StringRef constraints, ValueRange operands) {
    inlineAsm(Type(), text, constraints, operands, /*hasSideEffects=*/true);
  }
  /// PTX that computes a value of `type` from its operands alone.
  Value ptx(Type type, StringRef text, StringRef constraints,
            ValueRange operands) {
    return inlineAsm(type, text, constraints, operands,
                     /*hasSideEffects=*/false)
        .getResult(0);
  }
  /// PTX that reads memory, or anything else that changes.
  Value ptxRead(Type type, StringRef text, StringRef constraints,
                ValueRange operands) {
    return inlineAsm(type, text, constraints, operands,
                     /*hasSideEffects=*/true)
        .getResult(0);
  }

  /// A register's value, as if it might differ each time: what is computed of
  /// it in two places LLVM would rather compute once, before both, and keep.
  Value readAnew(Value value) {
    bool isFloat = value.getType().isF32();
    return ptxRead(value.getType(), "", isFloat ? "=f,0" : "=r,0", value);
  }

private:
  using Predicate = arith::CmpIPredicate;

  Value compare(Predicate predicate, Value a, Value x) {
    return arith::CmpIOp::create(*this, predicate, a, x);
  }
  LLVM::InlineAsmOp inlineAsm(Type type, StringRef text, StringRef constraints,
                              ValueRange operands, bool hasSideEffects) {
    return LLVM::InlineAsmOp::create(
        *this, type, operands, text, constraints, hasSideEffects,
        /*is_align_stack=*/false, LLVM::TailCallKind::None,
        LLVM::AsmDialectAttr(), /*operand_attrs=*/ArrayAttr());
  }
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EMIT_KERNELBUILDER_H
