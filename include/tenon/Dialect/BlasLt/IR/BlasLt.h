//===- BlasLt.h - The blaslt dialect ----------------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_BLASLT_IR_BLASLT_H
#define TENON_DIALECT_BLASLT_IR_BLASLT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tenon/Dialect/BlasLt/IR/BlasLtDialect.h.inc"
#include "tenon/Dialect/BlasLt/IR/BlasLtEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tenon/Dialect/BlasLt/IR/BlasLtTypes.h.inc"

namespace mlir::blaslt {

/// Bytes of scratch that a run is given; the same number as
/// kTenonBlasLtWorkspaceBytes of Runtime/Runtime.h.
inline constexpr int64_t kWorkspaceBytes = int64_t(32) << 20;

namespace detail {
// Lets one-shot bufferization see `blaslt.run`; called by the dialect.
void attachRunBufferization(MLIRContext &context);
} // namespace detail

} // namespace mlir::blaslt

#define GET_OP_CLASSES
#include "tenon/Dialect/BlasLt/IR/BlasLtOps.h.inc"

#endif // TENON_DIALECT_BLASLT_IR_BLASLT_H
