//===- PtxEmitter.h - LLVM IR to PTX ---------------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_BINARY_PTXEMITTER_H
#define TENON_LIB_CODEGEN_CUDA_BINARY_PTXEMITTER_H

#include "tenon/Target/TargetSpec.h"

#include "llvm/Support/Error.h"

namespace mlir::tenon {

/// Links `bitcode` with libdevice, optimises it and gives PTX: each kernel by a
/// thread of its own, in one text in their order. May run in several threads at
/// once.
llvm::Expected<std::string> emitPtx(llvm::StringRef bitcode,
                                    const TargetSpec &target,
                                    llvm::StringRef libdevice);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_BINARY_PTXEMITTER_H
