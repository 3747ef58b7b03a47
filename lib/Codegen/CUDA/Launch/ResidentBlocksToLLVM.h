//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_LAUNCH_RESIDENTBLOCKSTOLLVM_H
#define TENON_LIB_CODEGEN_CUDA_LAUNCH_RESIDENTBLOCKSTOLLVM_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::tenon {

/// What a function asks of a kernel before it launches it.
void populateResidentBlocksToLLVMPatterns(LLVMTypeConverter &converter,
                                          RewritePatternSet &patterns);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_LAUNCH_RESIDENTBLOCKSTOLLVM_H
