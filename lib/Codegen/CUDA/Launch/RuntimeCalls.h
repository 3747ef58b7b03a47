//===- RuntimeCalls.h - Shared by calls of the runtime ---------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_LAUNCH_RUNTIMECALLS_H
#define TENON_LIB_CODEGEN_CUDA_LAUNCH_RUNTIMECALLS_H

#include "tenon/Runtime/Runtime.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::tenon {

/// Calls the runtime's function `name` in place of a part of `op`; its first
/// argument is the TenonCall. Fails where the module has another function of
/// that name.
LogicalResult createRuntimeCall(OpBuilder &b, Operation *op, StringRef name,
                                ArrayRef<Value> arguments);
/// The same, for a function with a result.
FailureOr<Value> createRuntimeCall(OpBuilder &b, Operation *op, StringRef name,
                                   ArrayRef<Value> arguments, Type result);

/// The address of a memref's first element; null for an absent one.
Value getAddress(OpBuilder &b, Location loc, const LLVMTypeConverter &converter,
                 Value original, Value descriptor);

/// The address of a constant of the module of `op` with these fields. Its name
/// begins with `prefix`.
Value createConstantStruct(OpBuilder &b, Operation *op, StringRef prefix,
                           ArrayRef<Attribute> fields);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_LAUNCH_RUNTIMECALLS_H
