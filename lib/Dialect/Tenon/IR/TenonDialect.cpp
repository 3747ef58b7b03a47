//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect itself: registration, and the text and checks of its attributes.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
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
                   "an approximation of gelu; expected none, tanh or tf32");
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
  return parseEnum(parser, value,
                   "a family of kernels; expected mma_sync or wgmma");
}

static void printKernelFamily(AsmPrinter &printer, KernelFamily value) {
  printer << stringifyEnum(value);
}

static ParseResult parseProductMethod(AsmParser &parser, ProductMethod &value) {
  return parseEnum(parser, value,
                   "a method; expected direct, fp16, fp16x3 or fma");
}

static ParseResult parseReductionMethod(AsmParser &parser,
                                        ReductionMethod &value) {
  return parseEnum(parser, value,
                   "a reduction; expected separate, two_phase, resident or "
                   "input_moments");
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
  value = succeeded(parser.parseOptionalKeyword("true"));
  if (value || succeeded(parser.parseOptionalKeyword("false")))
    return success();
  return parser.emitError(parser.getCurrentLocation(),
                          "expected true or false");
}

/// A schedule's blocks, and what it may leave out, in any order.
static ParseResult parseBlocksAndOptions(AsmParser &parser, int64_t &blocks,
                                         bool &streamK,
                                         SmallVector<int64_t> &cluster,
                                         bool &pingPong, bool &defer,
                                         ProductMethod &method,
                                         ReductionMethod &reduction) {
  if (parser.parseInteger(blocks))
    return failure();
  llvm::StringSet<> seen;
  while (succeeded(parser.parseOptionalComma())) {
    StringRef name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    if (!seen.insert(name).second)
      return parser.emitError(loc) << name << " is given twice";
    ParseResult result = failure();
    if (name == "stream_k")
      result = parseFlag(parser, streamK);
    else if (name == "cluster")
      result = parseExtents(parser, cluster);
    else if (name == "ping_pong")
      result = parseFlag(parser, pingPong);
    else if (name == "defer")
      result = parseFlag(parser, defer);
    else if (name == "method")
      result = parseProductMethod(parser, method);
    else if (name == "reduction")
      result = parseReductionMethod(parser, reduction);
    else
      return parser.emitError(loc, "expected stream_k, cluster, ping_pong, "
                                   "defer, method or reduction, but found ")
             << name;
    if (failed(result))
      return failure();
  }
  return success();
}

static void printBlocksAndOptions(AsmPrinter &printer, int64_t blocks,
                                  bool streamK, ArrayRef<int64_t> cluster,
                                  bool pingPong, bool defer,
                                  ProductMethod method,
                                  ReductionMethod reduction) {
  printer << blocks;
  if (streamK)
    printer << ", stream_k = true";
  if (!cluster.empty()) {
    printer << ", cluster = ";
    printExtents(printer, cluster);
  }
  if (pingPong)
    printer << ", ping_pong = true";
  if (defer)
    printer << ", defer = true";
  if (method != ProductMethod::Direct)
    printer << ", method = " << stringifyProductMethod(method);
  if (reduction != ReductionMethod::Separate)
    printer << ", reduction = " << stringifyReductionMethod(reduction);
}

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/Tenon/IR/TenonAttrs.cpp.inc"

LogicalResult ScheduleAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, KernelFamily /*family*/,
    ArrayRef<int64_t> tile, ArrayRef<int64_t> warps, int64_t stages,
    int64_t swizzle, int64_t raster, int64_t blocks, bool /*streamK*/,
    ArrayRef<int64_t> cluster, bool /*pingPong*/, bool /*defer*/,
    ProductMethod /*method*/, ReductionMethod /*reduction*/) {
  // schedule-C1
  if (tile.size() != 3)
    return emitError() << "tile must be M x N x K, but has " << tile.size()
                       << " extents";
  // schedule-C2
  if (warps.size() != 2)
    return emitError() << "warps must be along M x N, but have " << warps.size()
                       << " extents";
  auto isPositive = [](int64_t value) { return value > 0; };
  // schedule-C3
  if (!llvm::all_of(tile, isPositive) || !llvm::all_of(warps, isPositive) ||
      !llvm::all_of(cluster, isPositive) ||
      !llvm::all_of(ArrayRef{stages, swizzle, raster, blocks}, isPositive))
    return emitError() << "every number of a schedule must be positive";
  // schedule-C4
  if (!cluster.empty() && cluster.size() != 2)
    return emitError() << "cluster must be along M x N, but has "
                       << cluster.size() << " extents";
  return success();
}

LogicalResult
TensorMapAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      ArrayRef<int64_t> box, int64_t swizzle,
                      bool /*roundsTf32*/) {
  // tensor_map-C1
  if (box.size() != 2)
    return emitError() << "box must be rows x columns, but has " << box.size()
                       << " extents";
  // tensor_map-C2
  for (int64_t extent : box)
    if (extent < 1 || extent > 256)
      return emitError() << "an extent of a box must be 1 to 256, but is "
                         << extent;
  // tensor_map-C3
  if (!llvm::is_contained({32, 64, 128}, swizzle))
    return emitError() << "swizzle must be 32, 64 or 128 bytes, but is "
                       << swizzle;
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
