//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the host checks and computes before it launches a kernel.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EMIT_HOSTVALUES_H
#define TENON_LIB_CODEGEN_CUDA_EMIT_HOSTVALUES_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tenon {

/// Checks that all operands of `op` are contiguous memrefs, which is what
/// kernels take.
LogicalResult checkBuffers(Operation *op);

/// The extent of `memref`'s first dimension, an i64.
Value createRowCount(ImplicitLocOpBuilder &b, Value memref);

/// Whether every memref of `memrefs` is aligned to 16 bytes.
Value createIsAligned(ImplicitLocOpBuilder &b, ValueRange memrefs);

/// Emits `aligned` for where they are, and `unaligned` for where not.
void emitIfAligned(ImplicitLocOpBuilder &b, ValueRange memrefs,
                   llvm::function_ref<void()> aligned,
                   llvm::function_ref<void()> unaligned);

/// A temporary, allocated before the op of the function's own block that `b` is
/// in: a model's temporaries are allocated there. `extents` are those that are
/// dynamic, known there.
Value createTemporary(ImplicitLocOpBuilder &b, MemRefType type,
                      ValueRange extents = {});

/// A launch of `kernel` by `blocks` (i64) blocks of `threads` threads.
/// `shared`: bytes of dynamic shared memory (i32), or null.
LaunchOp createLaunch(ImplicitLocOpBuilder &b, LLVM::LLVMFuncOp kernel,
                      Value blocks, int64_t threads, Value shared,
                      ValueRange arguments);

/// `base`, or `base` with a number where `module` has that name already.
std::string makeKernelName(gpu::GPUModuleOp module, StringRef base);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EMIT_HOSTVALUES_H
