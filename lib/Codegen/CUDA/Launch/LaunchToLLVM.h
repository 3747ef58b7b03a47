//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_LAUNCH_LAUNCHTOLLVM_H
#define TENON_LIB_CODEGEN_CUDA_LAUNCH_LAUNCHTOLLVM_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::tenon {

/// The number of a kernel in `tenon.kernels` of the module of `op`; fails where
/// that does not list it.
FailureOr<int64_t> getKernelNumber(Operation *op, StringAttr kernel);

/// Launches of kernels, through tensor maps too.
void populateLaunchToLLVMPatterns(LLVMTypeConverter &converter,
                                  RewritePatternSet &patterns);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_LAUNCH_LAUNCHTOLLVM_H
