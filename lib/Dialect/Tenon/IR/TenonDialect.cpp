//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect itself: registration, and checks of its discardable attributes.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tenon;

#include "tenon/Dialect/Tenon/IR/TenonDialect.cpp.inc"
#include "tenon/Dialect/Tenon/IR/TenonEnums.cpp.inc"
#include "tenon/Dialect/Tenon/IR/TenonInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/Tenon/IR/TenonAttrs.cpp.inc"

void TenonDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tenon/Dialect/Tenon/IR/TenonAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/Tenon/IR/TenonOps.cpp.inc"
      >();
}

FloatType tenon::getComputeType(Type elementType) {
  MLIRContext *context = elementType.getContext();
  if (elementType.isF64())
    return Float64Type::get(context);
  return Float32Type::get(context);
}

static LogicalResult verifyNameAttr(Operation *op, NamedAttribute attribute) {
  if (isa<StringAttr>(attribute.getValue()))
    return success();
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' must be a string, but is "
                           << attribute.getValue();
}

LogicalResult TenonDialect::verifyRegionArgAttribute(Operation *op,
                                                     unsigned /*regionIndex*/,
                                                     unsigned argIndex,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  if (name == kNameAttr)
    return verifyNameAttr(op, attribute);
  if (name == kPreparedAttr) {
    if (auto index = dyn_cast<IntegerAttr>(attribute.getValue());
        index && !index.getValue().isNegative())
      return success();
    return op->emitOpError() << "'tenon.prepared' of argument #" << argIndex
                             << " must be the number of a result of the "
                                "function's prepare, but is "
                             << attribute.getValue();
  }
  if (name != kParamAttr)
    return op->emitOpError() << "'" << name << "' is not an attribute of an "
                             << "argument; did you mean 'tenon.param'?";
  if (!isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError()
           << "'tenon.param' of argument #" << argIndex
           << " is a mark and takes no value, but is " << attribute.getValue();
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError("'tenon.param' marks arguments of functions only");
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[argIndex]);
  if (type && type.hasStaticShape())
    return success();
  return op->emitOpError() << "argument #" << argIndex
                           << " is marked 'tenon.param' and must be a "
                              "statically shaped tensor, but is "
                           << function.getArgumentTypes()[argIndex];
}

LogicalResult TenonDialect::verifyRegionResultAttribute(
    Operation *op, unsigned /*regionIndex*/, unsigned /*resultIndex*/,
    NamedAttribute attribute) {
  if (attribute.getName() == kNameAttr)
    return verifyNameAttr(op, attribute);
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' is not an attribute of a result; only "
                              "'tenon.name' is";
}

LogicalResult TenonDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  if (attribute.getName() == kPrepareAttr &&
      isa<FlatSymbolRefAttr>(attribute.getValue()))
    return success();
  if (attribute.getName() == kKernelsAttr &&
      isa<ArrayAttr>(attribute.getValue()))
    return success();
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' is not an attribute of this op";
}
