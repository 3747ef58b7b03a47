//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each method of multiplying gives and asks.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/Checks/ProductMethod.h"

#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;
using llvm::formatv;

std::optional<Reason>
tenon::findLayoutProblem(ProductMethod method, Type elementType,
                         std::optional<OperandLayout> layout) {
  if (!getTraits(method).readsElements() ||
      elementType.getIntOrFloatBitWidth() == 16 ||
      (!isXTransposed(layout) && !isWTransposed(layout)))
    return std::nullopt;
  return Reason(ReasonCode::DirectReadsRows, stringifyOperandLayout(*layout));
}

std::string tenon::findPrecisionProblem(ProductMethod method, Type elementType,
                                        std::optional<Precision> precision,
                                        int64_t k) {
  StringRef name = stringifyProductMethod(method);
  Precision asked = precision.value_or(Precision::FP32);
  bool isNarrow = isNarrowFloat(elementType);
  if (isNarrow != (method == ProductMethod::FP8))
    return formatv("method {0} does not multiply {1}; {2}", name, elementType,
                   isNarrow ? "write method = fp8" : "leave it out");
  bool multipliesF32 = elementType.isF32() &&
                       (asked == Precision::FP32 || asked == Precision::TF32);
  if (!multipliesF32) {
    if (isNarrow || method == ProductMethod::Direct)
      return "";
    if (elementType.isF32())
      return formatv("method {0} multiplies f32, but for precision {1} x and w "
                     "are cast to 16 bits; leave method out",
                     name, stringifyPrecision(asked));
    return formatv("method {0} multiplies f32, but x and w are {1}; leave "
                   "method out",
                   name, elementType);
  }
  MethodTraits traits = getTraits(method);
  if (asked == Precision::FP32 && !traits.isFp32)
    return formatv("method {0} is as accurate as tf32, less than precision "
                   "fp32 asks; write method = fp16x3 or method = fma, or "
                   "precision<tf32> on the layer",
                   name);
  if (asked == Precision::FP32 && k < traits.leastColumns)
    return formatv("method {0} is as accurate as precision fp32 asks from K = "
                   "{1} on, but K is {2}; write method = fma",
                   name, traits.leastColumns, k);
  if (traits.isSplit() && k > SplitOp::kMaxColumns)
    return formatv("tenon.split takes at most {0} columns, but K is {1}; write "
                   "method = fma",
                   SplitOp::kMaxColumns, k);
  return "";
}
