//===- SplitRowReduction.h - Over the threads of a row ----------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_SPLIT_SPLITROWREDUCTION_H
#define TENON_LIB_CODEGEN_CUDA_SPLIT_SPLITROWREDUCTION_H

#include "Codegen/CUDA/Emit/KernelBuilder.h"

namespace mlir::tenon {

/// The maximum and the sum of signed i32 over the threads of a row, in a kernel
/// whose blocks have rows of one warp, or one row of up to 32 warps.
///
/// Maxima and sums have places of their own in shared memory, and are to take
/// turns: then the barrier of one separates the reads of the other from the
/// writes that follow.
class SplitRowReduction {
public:
  /// `thread` is the number in the row of the thread that `function` runs on;
  /// `warps`, of a row, is a power of two.
  SplitRowReduction(KernelBuilder &b, LLVM::LLVMFuncOp function, Value thread,
                    unsigned warps);

  /// Of all lanes of `value`, a scalar or a vector, in all threads; each of
  /// them calls it and gets the result.
  Value emitMax(Value value) { return emit(value, /*isSum=*/false); }
  Value emitSum(Value value) { return emit(value, /*isSum=*/true); }

private:
  Value emit(Value value, bool isSum);

  KernelBuilder &b;
  Value thread;
  unsigned warps;
  LLVM::GlobalOp shared; ///< null with one warp
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_SPLIT_SPLITROWREDUCTION_H
