//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect itself: its ops and its type.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/BlasLt/IR/BlasLt.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::blaslt;

#include "tenon/Dialect/BlasLt/IR/BlasLtDialect.cpp.inc"
#include "tenon/Dialect/BlasLt/IR/BlasLtEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "tenon/Dialect/BlasLt/IR/BlasLtTypes.cpp.inc"

void BlasLtDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tenon/Dialect/BlasLt/IR/BlasLtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/BlasLt/IR/BlasLtOps.cpp.inc"
      >();
  detail::attachRunBufferization(*getContext());
}
