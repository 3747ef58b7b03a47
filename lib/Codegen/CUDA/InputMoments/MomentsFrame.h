//===- MomentsFrame.h - What kernels of moments share ----------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_MOMENTSFRAME_H
#define TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_MOMENTSFRAME_H

#include "Codegen/CUDA/Emit/KernelBuilder.h"
#include "MomentsGeometry.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::tenon {

/// A kernel of `tenon.product_moments`: its function, its thread's place, f64
/// arithmetic, rows in shared memory and products of tiles.
///
/// A product of 8x4 by 4x8 (mma.m8n8k4) takes an element of each from a lane:
/// of the row, or column, lane / 4, and of K lane % 4. Of the sums, lanes have
/// two of row lane / 4, from column 2 (lane % 4) on. Four such products, 16x8
/// by 8x8, are one instruction from Hopper on.
class MomentsFrame {
public:
  /// Opens a kernel in `module`; the builder is then in its body.
  MomentsFrame(gpu::GPUModuleOp module, StringRef name, Location loc,
               const MomentsGeometry &geometry, unsigned numPointers,
               int64_t threads);

  Value real(double value) {
    return arith::ConstantOp::create(b, b.getF64FloatAttr(value));
  }
  Value add(Value a, Value x) { return arith::AddFOp::create(b, a, x); }
  Value sub(Value a, Value x) { return arith::SubFOp::create(b, a, x); }
  Value mul(Value a, Value x) { return arith::MulFOp::create(b, a, x); }
  Value div(Value a, Value x) { return arith::DivFOp::create(b, a, x); }
  /// An integer that is not negative, as f64.
  Value toReal(Value value) {
    return arith::UIToFPOp::create(b, b.getF64Type(), value);
  }

  /// Element `index` (i32 or i64) of an array of f64, or two from there on.
  Value load(Value array, Value index);
  std::pair<Value, Value> loadTwo(Value array, Value index);
  void store(Value value, Value array, Value index);

  /// An element of x or w, row-major, as f64.
  Value loadInput(Value matrix, Value row, Value column);

  /// An array of f64 in shared memory.
  Value allocateShared(StringRef suffix, int64_t count);
  /// Has all threads copy rows of `matrix`, which has `numRows`, from `first`
  /// on (both i64) to shared memory, as f64. What lies beyond is zero.
  void stageRows(Value shared, Value matrix, Value first, Value numRows);

  /// The row and column of tiles of tile number `tile`.
  std::pair<Value, Value> locateTile(Value tile);
  /// Elements of K, four by four, that multiply() takes.
  static constexpr unsigned kFours = 2;
  /// Adds to two sums of eight rows, and to two of eight others, the products
  /// with eight columns: `as` are the lane's elements of those rows and of
  /// these, for the first four of K and for the second; `xs` of the columns.
  void multiply(MutableArrayRef<Value> upper, MutableArrayRef<Value> lower,
                ArrayRef<Value> as, ArrayRef<Value> xs);

  KernelBuilder b;
  const MomentsGeometry &g;
  LLVM::LLVMFuncOp function;
  ValueRange pointers;
  Value m, groups;                 ///< i64
  Value thread, block, warp, lane; ///< i32
  Value laneRow, laneColumn;       ///< lane / 4 and lane % 4

private:
  void findTarget(gpu::GPUModuleOp module);
  void multiplySmall(MutableArrayRef<Value> sums, Value a, Value x);
  SmallVector<Value> multiplyLarge(ArrayRef<Value> sums, ArrayRef<Value> as,
                                   ArrayRef<Value> xs);
  Value stageElement(Value element, Value matrix, Value first, Value numRows);

  int64_t threads;
  Value hasLarge; ///< whether the target has the large product
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_INPUTMOMENTS_MOMENTSFRAME_H
