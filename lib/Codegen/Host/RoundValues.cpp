//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounds by LLVM's arithmetic, which knows all types.
//
//===----------------------------------------------------------------------===//

#include "RoundValues.h"

#include "mlir/Support/LLVM.h"

#include "llvm/ADT/APFloat.h"

#include <vector>

using namespace mlir;
using namespace mlir::tenon;
using llvm::APFloat;
using llvm::StringRef;

static const llvm::fltSemantics &getSemantics(const TenonDataType &type) {
  switch (type.number) {
  case kTenonF32:
    return APFloat::IEEEsingle();
  case kTenonF16:
    return APFloat::IEEEhalf();
  case kTenonBF16:
    return APFloat::BFloat();
  case kTenonF64:
    return APFloat::IEEEdouble();
  case kTenonF8_E4M3:
    return APFloat::Float8E4M3FN();
  case kTenonF8_E5M2:
    return APFloat::Float8E5M2();
  }
  llvm_unreachable("all types are above");
}

namespace {
/// Elements as integers of their bits.
class Rounder {
public:
  Rounder(const TenonDataType &from, const TenonDataType &to)
      : from(getSemantics(from)), to(getSemantics(to)), bits(8 * from.bytes) {
    constexpr unsigned mostInTable = 16;
    if (bits > mostInTable)
      return;
    table.reserve(size_t(1) << bits);
    for (uint64_t element = 0; element >> bits == 0; ++element)
      table.push_back(compute(element));
  }

  struct Result {
    uint64_t element;
    bool isLost; ///< it was finite
  };
  Result round(uint64_t element) const {
    return table.empty() ? compute(element) : table[element];
  }
  double getValue(uint64_t element) const {
    return APFloat(from, llvm::APInt(bits, element)).convertToDouble();
  }

private:
  Result compute(uint64_t element) const {
    APFloat value(from, llvm::APInt(bits, element));
    bool isFinite = value.isFinite(), losesInfo;
    value.convert(to, APFloat::rmNearestTiesToEven, &losesInfo);
    return {value.bitcastToAPInt().getZExtValue(),
            isFinite && !value.isFinite()};
  }

  const llvm::fltSemantics &from, &to;
  unsigned bits;
  std::vector<Result> table; ///< of few bits
};
} // namespace

static uint64_t readElement(const char *place, int64_t bytes) {
  uint64_t element = 0;
  for (int64_t i = bytes - 1; i >= 0; --i)
    element = element << 8 | static_cast<unsigned char>(place[i]);
  return element;
}

std::optional<double> tenon::appendRounded(StringRef values,
                                           const TenonDataType &from,
                                           const TenonDataType &to,
                                           std::string &output) {
  Rounder rounder(from, to);
  output.reserve(output.size() + values.size() / from.bytes * to.bytes);
  std::optional<double> lost;
  for (size_t place = 0; place != values.size(); place += from.bytes) {
    uint64_t element = readElement(values.data() + place, from.bytes);
    auto [rounded, isLost] = rounder.round(element);
    if (isLost && !lost)
      lost = rounder.getValue(element);
    for (int64_t i = 0; i != to.bytes; ++i)
      output.push_back(static_cast<char>(rounded >> 8 * i));
  }
  return lost;
}
