//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every kernel is built from: its function, and branches in it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EMIT_KERNELFUNCTION_H
#define TENON_LIB_CODEGEN_CUDA_EMIT_KERNELFUNCTION_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tenon {

/// A kernel for blocks of `threads` threads; its arguments are `numTensorMaps`
/// tensor maps, `numPointers` pointers to global memory and two i64. The
/// builder is then in its body.
LLVM::LLVMFuncOp createKernelFunction(ImplicitLocOpBuilder &b,
                                      gpu::GPUModuleOp module, StringRef name,
                                      unsigned numTensorMaps,
                                      unsigned numPointers, int64_t threads);

/// An array in shared memory, aligned to 16 bytes, that is named after
/// `function`.
LLVM::GlobalOp createSharedArray(ImplicitLocOpBuilder &b,
                                 LLVM::LLVMFuncOp function, const Twine &suffix,
                                 Type elementType, int64_t count);

/// Emits `body` where `condition` holds.
void emitIf(ImplicitLocOpBuilder &b, Value condition,
            llvm::function_ref<void()> body);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EMIT_KERNELFUNCTION_H
