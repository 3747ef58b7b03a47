//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The moments of a subtile's columns, from its values in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SM90_SUBTILEMOMENTS_H
#define TENON_LIB_CODEGEN_CUDA_SM90_SUBTILEMOMENTS_H

#include "../Tiled/TiledFrame.h"
#include "EpilogueSubtiles.h"

namespace mlir::tenon {

/// What `tenon.moments` gives of a subtile: mean and M2 of its 64 rows, or of
/// those that M leaves it. They are of what is stored, rounded as it is.
///
/// A thread takes one word of a row, an f32 or a pair of 16 bits, in as many
/// rows as make equal work for the warpgroup's 128 threads: each warp a quarter
/// of the words, and of its lanes those with the same word a part of the rows
/// each. A warp's loads meet no bank conflict, but for rows of 32 bytes: there
/// its words lie in half of the banks.
///
/// Two passes over what a thread has loaded: first the mean, then the squared
/// distances from it. Its moments are combined with the other lanes'; of rows
/// that M cuts, both passes sum over the lanes instead. In f32 values are
/// taken relative to the first row's, or a sum of large means would round away
/// what they differ by; sums of 16 bits are exact enough.
class SubtileMoments {
public:
  /// `memory`: the first byte of the subtile's buffer.
  SubtileMoments(TiledFrame &frame, const SubtileTensor &tensor, Value memory);

  /// Stores them to `output`, for a subtile whose first row and column these
  /// are; nothing of rows beyond M or columns beyond N.
  void store(Value output, Value row, Value column);

private:
  int64_t rowsOfThread() const { return EpilogueSubtiles::kRows / parts; }
  int64_t getRow(int64_t index) const;
  SmallVector<Value> load(int64_t index);
  SmallVector<Value> loadOrigins();
  SmallVector<SmallVector<Value>> loadColumns(ArrayRef<Value> origins,
                                              ArrayRef<Value> inRange);
  struct Moments {
    Value mean, m2;
  };
  Value exchange(Value value, int64_t distance);
  Moments reduce(ArrayRef<Value> values);
  Moments reduce(ArrayRef<Value> values, ArrayRef<Value> inRange, Value share);
  void emit(Value output, Value block, Value column, Value left);

  TiledFrame &frame;
  KernelBuilder &b;
  const SubtileTensor &tensor;
  int64_t words; ///< of a row, that the warp has
  int64_t parts; ///< that rows are divided into
  /// The thread takes `neighbours` rows in each `stride`.
  int64_t neighbours, stride;
  Value word; ///< the thread's, in its row
  Value part;
  Value firstRow;                ///< the thread's
  SmallVector<Value> firstWords; ///< where they lie, of each neighbour
  Value topWord;                 ///< where it lies in the subtile's first row
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SM90_SUBTILEMOMENTS_H
