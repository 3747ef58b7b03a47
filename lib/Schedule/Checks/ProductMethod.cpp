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

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;
using llvm::formatv;

/// With fewer products, what a split leaves out of each shows in their sum: all
/// rows would be outside of what tenon.split holds.
static constexpr int64_t kMinFp32SplitColumns = 64;

unsigned tenon::getSplitParts(ProductMethod method) {
  if (method == ProductMethod::FP16x3)
    return 2;
  return method == ProductMethod::FP16 ? 1 : 0;
}

std::string tenon::findPrecisionProblem(ProductMethod method, Type elementType,
                                        std::optional<Precision> precision,
                                        int64_t k) {
  StringRef name = stringifyProductMethod(method);
  Precision asked = precision.value_or(Precision::FP32);
  bool multipliesF32 = elementType.isF32() &&
                       (asked == Precision::FP32 || asked == Precision::TF32);
  if (!multipliesF32) {
    if (method == ProductMethod::Direct)
      return "";
    if (elementType.isF32())
      return formatv("method {0} multiplies f32, but for precision {1} x and w "
                     "are cast to 16 bits; leave method out",
                     name, stringifyPrecision(asked));
    return formatv("method {0} multiplies f32, but x and w are {1}; leave "
                   "method out",
                   name, elementType);
  }
  if (asked == Precision::FP32 &&
      (method == ProductMethod::Direct || method == ProductMethod::FP16))
    return formatv("method {0} is as accurate as tf32, less than precision "
                   "fp32 asks; write method = fp16x3 or method = fma, or "
                   "precision<tf32> on the layer",
                   name);
  if (asked == Precision::FP32 && method == ProductMethod::FP16x3 &&
      k < kMinFp32SplitColumns)
    return formatv("method fp16x3 is as accurate as precision fp32 asks from K "
                   "= {0} on, but K is {1}; write method = fma",
                   kMinFp32SplitColumns, k);
  if (getSplitParts(method) != 0 && k > SplitOp::kMaxColumns)
    return formatv("tenon.split takes at most {0} columns, but K is {1}; write "
                   "method = fma",
                   SplitOp::kMaxColumns, k);
  return "";
}
