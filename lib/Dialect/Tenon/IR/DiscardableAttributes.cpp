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

/// Checks that `attribute` is an i64 from 1 to `max`; `expected` says what it
/// counts.
static LogicalResult verifyCount(Operation *op, NamedAttribute attribute,
                                 int64_t max, StringRef expected) {
  if (auto count = dyn_cast<IntegerAttr>(attribute.getValue());
      count && count.getType().isSignlessInteger(64) && count.getInt() > 0 &&
      count.getInt() <= max)
    return success();
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' must be the number, " << expected
                           << ", but is " << attribute.getValue();
}

/// The attributes of a gpu.launch_func.
static LogicalResult verifyOfLaunch(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  // attributes-C12
  if (name == TenonDialect::kPersistentAttr)
    return verifyCount(op, attribute, INT64_MAX,
                       "a positive i64, of thread blocks at most");
  // attributes-C13
  if (name == TenonDialect::kTensorMapsAttr) {
    auto maps = dyn_cast<ArrayAttr>(attribute.getValue());
    if (maps && !maps.empty() &&
        llvm::all_of(maps, llvm::IsaPred<TensorMapAttr>))
      return success();
    return op->emitOpError("'tenon.tensor_maps' must be an array of "
                           "#tenon.tensor_map, one for each of the first "
                           "operands, but is ")
           << attribute.getValue();
  }
  // attributes-C16
  if (name == TenonDialect::kWaitsItselfAttr) {
    if (isa<UnitAttr>(attribute.getValue()))
      return success();
    return op->emitOpError("'tenon.waits_itself' is a mark and takes no value, "
                           "but is ")
           << attribute.getValue();
  }
  // attributes-C14
  auto maxBlocks =
      op->getAttrOfType<IntegerAttr>(TenonDialect::kPersistentAttr);
  if (!maxBlocks)
    return op->emitOpError() << "'" << name
                             << "' is for persistent launches; give it "
                                "'tenon.persistent' too";
  // attributes-C15
  if (name == TenonDialect::kClusterAttr)
    return verifyCount(op, attribute, std::min<int64_t>(8, maxBlocks.getInt()),
                       "an i64 from 1 to 8 and at most 'tenon.persistent', of "
                       "a cluster's blocks");
  // attributes-C17
  return verifyCount(op, attribute, maxBlocks.getInt(),
                     "a positive i64 and at most 'tenon.persistent', of "
                     "thread blocks at least");
}

LogicalResult TenonDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  // attributes-C7
  if (name == kPrepareAttr && isa<FunctionOpInterface>(op))
    return verifyValue<FlatSymbolRefAttr>(op, attribute,
                                          "the symbol of a function");
  // attributes-C8
  if (name == kKernelsAttr && isa<ModuleOp>(op)) {
    auto names = dyn_cast<ArrayAttr>(attribute.getValue());
    if (names && llvm::all_of(names, llvm::IsaPred<StringAttr>))
      return success();
    return op->emitOpError("'tenon.kernels' must be an array of strings, but "
                           "is ")
           << attribute.getValue();
  }
  // attributes-C18
  if (name == kCandidatesAttr && isa<LinearLikeOp>(op))
    return verifyValue<DictionaryAttr>(
        op, attribute,
        "a dictionary, {epilogue = \"light\", schedules = [...]}");
  // The dialect of launches is none that this one knows.
  if (op->getName().getStringRef() == "gpu.launch_func" &&
      llvm::is_contained({kPersistentAttr, kClusterAttr, kWaitsItselfAttr,
                          kResidentAttr, kTensorMapsAttr},
                         name))
    return verifyOfLaunch(op, attribute);
  // attributes-C9
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' is not an attribute of this op";
}
