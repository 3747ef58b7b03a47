//===- Passes.h - The CPU target --------------------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_PASSES_H
#define TENON_CODEGEN_CPU_PASSES_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
}

namespace mlir::tenon {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tenon/Codegen/CPU/Passes.h.inc"

/// Tensor level: every tenon op becomes linalg, elementwise ops are fused.
void buildCPUTensorPipeline(OpPassManager &manager);

/// Buffer level: linalg becomes scf, vector, memref, arith and math, with
/// parallel loops as calls of the runtime. `vectorBits` is the CPU's vector
/// width, 256 or 512.
void buildCPUBufferPipeline(OpPassManager &manager, unsigned vectorBits = 256);

} // namespace mlir::tenon

#endif // TENON_CODEGEN_CPU_PASSES_H
