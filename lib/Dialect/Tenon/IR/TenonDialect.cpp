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

/// Parses one of an enum's keywords; `expected` says what they are.
template <typename EnumT>
static ParseResult parseEnum(AsmParser &parser, EnumT &value,
                             StringRef expected) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  if (std::optional<EnumT> symbol = symbolizeEnum<EnumT>(keyword)) {
    value = *symbol;
    return success();
  }
  return parser.emitError(loc) << "'" << keyword << "' is not " << expected;
}

static ParseResult parsePrecision(AsmParser &parser, Precision &value) {
  return parseEnum(parser, value,
                   "a precision; expected fp32, tf32, bf16 or fp16");
}

static void printPrecision(AsmPrinter &printer, Precision value) {
  printer << stringifyEnum(value);
}

static ParseResult parseGeluApproximation(AsmParser &parser,
                                          GeluApproximation &value) {
  return parseEnum(parser, value,
                   "an approximation of gelu; expected none or tanh");
}

static void printGeluApproximation(AsmPrinter &printer,
                                   GeluApproximation value) {
  printer << stringifyEnum(value);
}

static ParseResult parseStrategy(AsmParser &parser, Strategy &value) {
  return parseEnum(parser, value, "a strategy; expected library or tiled");
}

static void printStrategy(AsmPrinter &printer, Strategy value) {
  printer << stringifyEnum(value);
}

static ParseResult parseKernelFamily(AsmParser &parser, KernelFamily &value) {
  return parseEnum(parser, value, "a family of kernels; expected mma_sync or wgmma");
}

static void printKernelFamily(AsmPrinter &printer, KernelFamily value) {
  printer << stringifyEnum(value);
}

/// Extents as in a shape, `128x256x64`.
static ParseResult parseExtents(AsmParser &parser,
                                SmallVector<int64_t> &extents) {
  return parser.parseDimensionList(extents, /*allowDynamic=*/false,
                                   /*withTrailingX=*/false);
}

static void printExtents(AsmPrinter &printer, ArrayRef<int64_t> extents) {
  llvm::interleave(extents, printer, "x");
}

static ParseResult parseFlag(AsmParser &parser, bool &value) {
  FailureOr<bool> parsed = FieldParser<bool>::parse(parser);
  if (failed(parsed))
    return failure();
  value = *parsed;
  return success();
}

/// A schedule's blocks, and what it may leave out, in any order.
static ParseResult parseBlocksAndOptions(AsmParser &parser, int64_t &blocks,
                                         bool &streamK,
                                         SmallVector<int64_t> &cluster,
                                         bool &pingPong) {
  if (parser.parseInteger(blocks))
    return failure();
  while (succeeded(parser.parseOptionalComma())) {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    ParseResult result = failure();
    if (name == "stream_k")
      result = parseFlag(parser, streamK);
    else if (name == "cluster")
      result = parseExtents(parser, cluster);
    else if (name == "ping_pong")
      result = parseFlag(parser, pingPong);
    else
      return parser.emitError(loc, "expected stream_k, cluster or ping_pong, "
                                   "but found ")
             << name;
    if (failed(result))
      return failure();
  }
  return success();
}

static void printBlocksAndOptions(AsmPrinter &printer, int64_t blocks,
                                  bool streamK, ArrayRef<int64_t> cluster,
                                  bool pingPong) {
  printer << blocks;
  if (streamK)
    printer << ", stream_k = true";
  if (!cluster.empty()) {
    printer << ", cluster = ";
    printExtents(printer, cluster);
  }
  if (pingPong)
    printer << ", ping_pong = true";
}

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/Tenon/IR/TenonAttrs.cpp.inc"

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   KernelFamily /*family*/,
                                   ArrayRef<int64_t> tile,
                                   ArrayRef<int64_t> warps, int64_t stages,
                                   int64_t swizzle, int64_t raster,
                                   int64_t blocks, bool /*streamK*/,
                                   ArrayRef<int64_t> cluster,
                                   bool /*pingPong*/) {
  // schedule-C1
  if (tile.size() != 3)
    return emitError() << "tile must be M x N x K, but has " << tile.size()
                       << " extents";
  // schedule-C2
  if (warps.size() != 2)
    return emitError() << "warps must be along M x N, but have " << warps.size()
                       << " extents";
  // schedule-C4
  if (!cluster.empty() && cluster.size() != 2)
    return emitError() << "cluster must be along M x N, but has "
                       << cluster.size() << " extents";
  auto isPositive = [](int64_t value) { return value > 0; };
  // schedule-C3
  if (!llvm::all_of(tile, isPositive) || !llvm::all_of(warps, isPositive) ||
      !llvm::all_of(cluster, isPositive) ||
      !llvm::all_of(ArrayRef{stages, swizzle, raster, blocks}, isPositive))
    return emitError() << "every number of a schedule must be positive";
  return success();
}

void TenonDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tenon/Dialect/Tenon/IR/TenonAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/Tenon/IR/TenonOps.cpp.inc"
      >();
  detail::attachEpilogueBufferization(*getContext());
}

FloatType tenon::getComputeType(Type elementType) {
  MLIRContext *context = elementType.getContext();
  if (elementType.isF64())
    return Float64Type::get(context);
  return Float32Type::get(context);
}

bool tenon::detail::hasSupportedShape(RankedTensorType type) {
  if (type.getEncoding())
    return false;
  int64_t bytes = 8;
  for (auto [index, extent] : llvm::enumerate(type.getShape())) {
    bool isM = type.getRank() == 2 && index == 0;
    if (extent == 0 || (ShapedType::isDynamic(extent) && !isM))
      return false;
    if (!ShapedType::isDynamic(extent) &&
        llvm::MulOverflow(bytes, extent, bytes))
      return false;
  }
  return true;
}

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
  // attributes-C8
  if (name == kKernelsAttr && isa<ModuleOp>(op)) {
    auto names = dyn_cast<ArrayAttr>(attribute.getValue());
    if (names && llvm::all_of(names, llvm::IsaPred<StringAttr>))
      return success();
    return op->emitOpError("'tenon.kernels' must be an array of strings, but "
                           "is ")
           << attribute.getValue();
  }
  if (isa<LinearOp, FusedLinearOp>(op)) {
    // attributes-C10
    if (name == kStrategyAttr)
      return verifyValue<StrategyAttr>(
          op, attribute, "a strategy, such as #tenon.strategy<tiled>");
    // attributes-C11
    if (name == kScheduleAttr)
      return verifyValue<ScheduleAttr>(
          op, attribute, "a schedule, #tenon.schedule<mma_sync, ...>");
  }
  // attributes-C12; the dialect of the launch is none that this one knows.
  if (name == kPersistentAttr &&
      op->getName().getStringRef() == "gpu.launch_func") {
    if (auto blocks = dyn_cast<IntegerAttr>(attribute.getValue());
        blocks && blocks.getType().isSignlessInteger(64) && blocks.getInt() > 0)
      return success();
    return op->emitOpError("'tenon.persistent' must be the number, a positive "
                           "i64, of thread blocks at most, but is ")
           << attribute.getValue();
  }
  // attributes-C9
  return op->emitOpError() << "'" << attribute.getName().getValue()
                           << "' is not an attribute of this op";
}
