//===- Passes.h - Passes of the CUDA target ---------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CUDA_PASSES_H
#define TENON_CODEGEN_CUDA_PASSES_H

#include "tenon/Dialect/BlasLt/IR/BlasLt.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::tenon {
#define GEN_PASS_DECL
#include "tenon/Codegen/CUDA/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "tenon/Codegen/CUDA/Passes.h.inc"

/// Simplifies kernels and what launches them: what the canonicalizer and CSE
/// do, but for duplicates among the values that a loop carries.
void buildCleanKernels(OpPassManager &pm);
} // namespace mlir::tenon

#endif // TENON_CODEGEN_CUDA_PASSES_H
