//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks of the dialect's attributes on ops of all dialects, their arguments
// and results.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::tenon;

/// Checks that the value of `attribute` is an AttrT; `expected` says what that
/// is.
template <typename AttrT>
static LogicalResult verifyValue(Operation *op, NamedAttribute attribute,
                                 StringRef expected) {
  if (isa<AttrT>(attribute.getValue()))
    return success();
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' must be " << expected << ", but is "
                           << attribute.getValue();
}

LogicalResult TenonDialect::verifyRegionArgAttribute(Operation *op,
                                                     unsigned /*regionIndex*/,
                                                     unsigned argIndex,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  // attributes-C1
  if (name == kNameAttr)
    return verifyValue<StringAttr>(op, attribute, "a string");
  // attributes-C2
  if (name == kPreparedAttr) {
    if (auto index = dyn_cast<IntegerAttr>(attribute.getValue());
        index && index.getType().isSignlessInteger(64) && index.getInt() >= 0)
      return success();
    return op->emitOpError() << "'tenon.prepared' of argument #" << argIndex
                             << " must be the number, an i64, of a result of "
                                "the function's prepare, but is "
                             << attribute.getValue();
  }
  // attributes-C3
  if (name != kParamAttr)
    return op->emitOpError()
           << "'" << name << "' is not an attribute of an argument; expected "
           << "'tenon.param', 'tenon.name' or 'tenon.prepared'";
  // attributes-C4
  if (!isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError()
           << "'tenon.param' of argument #" << argIndex
           << " is a mark and takes no value, but is " << attribute.getValue();
  // Only functions have attributes of arguments.
  auto function = cast<FunctionOpInterface>(op);
  // attributes-C5; the tensor becomes a memref when it is bufferized.
  auto type = dyn_cast<ShapedType>(function.getArgumentTypes()[argIndex]);
  if (isa_and_nonnull<RankedTensorType, MemRefType>(type) &&
      type.hasStaticShape())
    return success();
  return op->emitOpError() << "argument #" << argIndex
                           << " is marked 'tenon.param' and must be a "
                              "statically shaped tensor, but is "
                           << function.getArgumentTypes()[argIndex];
}

LogicalResult TenonDialect::verifyRegionResultAttribute(
    Operation *op, unsigned /*regionIndex*/, unsigned /*resultIndex*/,
    NamedAttribute attribute) {
  // attributes-C1
  if (attribute.getName() == kNameAttr)
    return verifyValue<StringAttr>(op, attribute, "a string");
  // attributes-C6
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' is not an attribute of a result; only "
                              "'tenon.name' is";
}

LogicalResult TenonDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  // attributes-C7
  if (name == kPrepareAttr && isa<FunctionOpInterface>(op))
    return verifyValue<FlatSymbolRefAttr>(op, attribute,
                                          "the symbol of a function");
  // attributes-C13
  if (name == kBoundsAttr && isa<FunctionOpInterface>(op))
    return verifyValue<UnitAttr>(op, attribute, "a unit attribute");
  // attributes-C8
  if (name == kKernelsAttr && isa<ModuleOp>(op)) {
    auto names = dyn_cast<ArrayAttr>(attribute.getValue());
    if (names && llvm::all_of(names, llvm::IsaPred<StringAttr>))
      return success();
    return op->emitOpError("'tenon.kernels' must be an array of strings, but "
                           "is ")
           << attribute.getValue();
  }
  // attributes-C12
  if (name == kCandidatesAttr && isa<LinearLikeOp>(op))
    return verifyValue<DictionaryAttr>(
        op, attribute,
        "a dictionary, {epilogue = \"light\", schedules = [...]}");
  // attributes-C9
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' is not an attribute of this op";
}
