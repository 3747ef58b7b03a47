//===- HostToLLVM.h - Host code of the CUDA target -------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CUDA_LAUNCH_HOSTTOLLVM_H
#define TENON_CODEGEN_CUDA_LAUNCH_HOSTTOLLVM_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::tenon {

/// Replaces `op` by a call of the runtime's function `name`, which takes the
/// TenonCall, the enclosing function's first argument, before `arguments`.
LogicalResult callRuntime(ConversionPatternRewriter &rewriter, Operation *op,
                          StringRef name, ArrayRef<Value> arguments);

/// Patterns that turn `blaslt.run` and `tenon.launch` into calls of the
/// runtime (Runtime/Runtime.h). The enclosing function's first argument is the
/// TenonCall. Teaches `converter` the type `!blaslt.plan`. Launched kernels are
/// numbered by the module's `tenon.kernels`.
void populateCudaHostToLLVMPatterns(LLVMTypeConverter &converter,
                                    RewritePatternSet &patterns);

} // namespace mlir::tenon

#endif // TENON_CODEGEN_CUDA_LAUNCH_HOSTTOLLVM_H
