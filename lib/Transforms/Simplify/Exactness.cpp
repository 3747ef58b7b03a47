//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The guards of the algebraic rules: when multiplication by a constant is
// exact.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Simplify.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::tenon;

double tenon::roundToComputeType(double value, Type elementType) {
  return elementType.isF64() ? value : static_cast<float>(value);
}

std::optional<double> tenon::getConstantFactor(MulOp op) {
  if (!op.getScalarAttr())
    return std::nullopt;
  return roundToComputeType(op.getScalarAttr().getValueAsDouble(),
                            op.getType().getElementType());
}

bool tenon::isPowerOfTwo(double value) {
  return APFloat(value).getExactLog2Abs() != INT_MIN;
}

bool tenon::isNormalFactor(double value, Type elementType) {
  if (elementType.isF64())
    return std::isnormal(value);
  return std::isnormal(static_cast<float>(value));
}

bool tenon::hasWideRange(Type elementType) {
  auto exponentOf = [](const llvm::fltSemantics &semantics) {
    return APFloat::semanticsMaxExponent(semantics);
  };
  return exponentOf(cast<FloatType>(elementType).getFloatSemantics()) >=
         exponentOf(APFloat::IEEEsingle());
}

bool tenon::isInEpilogue(Operation *op) {
  return isa_and_nonnull<TenonDialect>(op->getParentOp()->getDialect());
}

void tenon::remarkSimplified(Operation *op, StringRef name, StringRef what,
                             bool exact) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  remark::passed(op->getLoc(),
                 remark::RemarkOpts::name(name)
                     .category("tenon-simplify")
                     .function(function ? function.getName() : ""))
      << remark::add("{0}; {1}", what.str(),
                     exact ? "exact" : "rounding changes");
}
