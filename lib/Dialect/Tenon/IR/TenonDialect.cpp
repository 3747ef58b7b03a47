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
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;

#include "tenon/Dialect/Tenon/IR/TenonDialect.cpp.inc"
#include "tenon/Dialect/Tenon/IR/TenonEnums.cpp.inc"
#include "tenon/Dialect/Tenon/IR/TenonInterfaces.cpp.inc"

/// "direct, fp16, fp16x3 or fma", where "or" is the conjunction.
static std::string joinWords(ArrayRef<StringRef> words, StringRef conjunction) {
  std::string first = llvm::join(words.drop_back(), ", ");
  return first.empty()
             ? words.back().str()
             : llvm::formatv("{0} {1} {2}", first, conjunction, words.back());
}

/// Parses one of an enum's keywords; `what` is the enum, for the message.
template <typename EnumT>
static ParseResult parseEnum(AsmParser &parser, EnumT &value, StringRef what) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  if (std::optional<EnumT> symbol = symbolizeEnum<EnumT>(keyword)) {
    value = *symbol;
    return success();
  }
  SmallVector<StringRef> known;
  for (StringRef word = stringifyEnum(EnumT()); !word.empty();
       word = stringifyEnum(static_cast<EnumT>(known.size())))
    known.push_back(word);
  return parser.emitError(loc) << "'" << keyword << "' is not " << what
                               << "; expected " << joinWords(known, "or");
}

static ParseResult parsePrecision(AsmParser &parser, Precision &value) {
  return parseEnum(parser, value, "a precision");
}

static void printPrecision(AsmPrinter &printer, Precision value) {
  printer << stringifyEnum(value);
}

static ParseResult parseOperandLayout(AsmParser &parser, OperandLayout &value) {
  return parseEnum(parser, value, "a layout");
}

static void printOperandLayout(AsmPrinter &printer, OperandLayout value) {
  printer << stringifyEnum(value);
}

static ParseResult parseGeluApproximation(AsmParser &parser,
                                          GeluApproximation &value) {
  return parseEnum(parser, value, "an approximation of gelu");
}

static void printGeluApproximation(AsmPrinter &printer,
                                   GeluApproximation value) {
  printer << stringifyEnum(value);
}

static ParseResult parseStrategy(AsmParser &parser, Strategy &value) {
  return parseEnum(parser, value, "a strategy");
}

static void printStrategy(AsmPrinter &printer, Strategy value) {
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

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/Tenon/IR/TenonAttrs.cpp.inc"

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

static ParseResult parseValue(AsmParser &parser, StringRef name,
                              std::array<int64_t, 3> &extents) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> found;
  if (parseExtents(parser, found))
    return failure();
  // schedule-C1
  if (found.size() != extents.size())
    return parser.emitError(loc) << name << " must be M x N x K, but has "
                                 << found.size() << " extents";
  llvm::copy(found, extents.begin());
  return success();
}

static ParseResult parseValue(AsmParser &parser, StringRef name,
                              std::array<int64_t, 2> &extents) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> found;
  if (parseExtents(parser, found))
    return failure();
  // schedule-C2, schedule-C4
  if (found.size() != extents.size())
    return parser.emitError(loc) << name << " must be along M x N, but "
                                 << (name.ends_with("s") ? "have " : "has ")
                                 << found.size() << " extents";
  llvm::copy(found, extents.begin());
  return success();
}

static ParseResult parseValue(AsmParser &parser, StringRef, int64_t &value) {
  return parser.parseInteger(value);
}

static ParseResult parseValue(AsmParser &parser, StringRef, bool &value) {
  value = succeeded(parser.parseOptionalKeyword("true"));
  if (value || succeeded(parser.parseOptionalKeyword("false")))
    return success();
  return parser.emitError(parser.getCurrentLocation(),
                          "expected true or false");
}

static ParseResult parseValue(AsmParser &parser, StringRef,
                              ProductMethod &value) {
  return parseEnum(parser, value, "a method");
}

static ParseResult parseValue(AsmParser &parser, StringRef,
                              ReductionMethod &value) {
  return parseEnum(parser, value, "a reduction");
}

template <typename T>
static void printValue(AsmPrinter &printer, const T &value) {
  if constexpr (std::is_enum_v<T>)
    printer << stringifyEnum(value);
  else if constexpr (requires { value.size(); })
    printExtents(printer, value);
  else
    printer << value;
}

/// Whether no number of a key's value is one that no schedule may hold.
template <typename T> static bool isPositive(const T &value) {
  if constexpr (requires { value.size(); })
    return llvm::all_of(value, [](int64_t extent) { return extent > 0; });
  else if constexpr (std::is_same_v<T, int64_t>)
    return value > 0;
  else
    return true;
}

/// Parses `name = value`, of a key that is not among those `seen`.
static ParseResult parseKey(AsmParser &parser, ScheduleParameters &parameters,
                            llvm::StringSet<> &seen) {
  StringRef name;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&name) || parser.parseEqual())
    return failure();
  if (!seen.insert(name).second)
    return parser.emitError(loc) << name << " is given twice";
  std::optional<ParseResult> result;
  SmallVector<StringRef> known;
  ScheduleParameters::forEachKey([&](StringRef key, auto member) {
    known.push_back(key);
    if (key == name)
      result = parseValue(parser, name, parameters.*member);
  });
  if (result)
    return *result;
  return parser.emitError(loc)
         << "expected " << joinWords(known, "or") << ", but found " << name;
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  ScheduleParameters parameters;
  llvm::StringSet<> seen;
  if (parser.parseLess() ||
      parseEnum(parser, parameters.family, "a family of kernels"))
    return {};
  while (succeeded(parser.parseOptionalComma()))
    if (parseKey(parser, parameters, seen))
      return {};
  if (parser.parseGreater())
    return {};
  SmallVector<StringRef> missing;
  ScheduleParameters::forEachKey([&](StringRef key, auto member) {
    if (!isPositive(ScheduleParameters().*member) && !seen.contains(key))
      missing.push_back(key);
  });
  if (!missing.empty()) {
    parser.emitError(loc) << "a schedule needs " << joinWords(missing, "and");
    return {};
  }
  return parser.getChecked<ScheduleAttr>(loc, parser.getContext(), parameters);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyEnum(getFamily());
  ScheduleParameters::forEachKey([&](StringRef key, auto member) {
    const auto &value = getParameters().*member;
    if (value == ScheduleParameters().*member)
      return;
    printer << ", " << key << " = ";
    printValue(printer, value);
  });
  printer << ">";
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ScheduleParameters parameters) {
  bool arePositive = true;
  ScheduleParameters::forEachKey([&](StringRef, auto member) {
    arePositive &= isPositive(parameters.*member);
  });
  // schedule-C3
  if (!arePositive)
    return emitError() << "every number of a schedule must be positive";
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
