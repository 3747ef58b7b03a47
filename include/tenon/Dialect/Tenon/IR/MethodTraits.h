//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How each method multiplies (TenonAttrs.td). Tenon.h includes it, behind the
// enums.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_METHODTRAITS_H
#define TENON_DIALECT_TENON_IR_METHODTRAITS_H

#include <cstdint>

namespace mlir::tenon {

struct MethodTraits {
  /// Parts in which it takes elements of f32 (`tenon.split`); 0 if it takes
  /// them as they are.
  unsigned parts;
  /// Whether it multiplies f32 as precision fp32 asks; if not, as tf32 does.
  bool isFp32;
  /// Columns of x and w at least: with fewer, what a split leaves out of each
  /// product shows in their sum.
  int64_t leastColumns;
  /// Whether it adds up a few products at a time, and their sums to others.
  bool hasPartialSums;
  bool usesTensorCores;
  /// Products and sums, counted as two, for each column of x and w as they are
  /// read, and each result.
  double operations;

  bool isSplit() const { return parts != 0; }
};

constexpr MethodTraits getTraits(ProductMethod method) {
  switch (method) {
  case ProductMethod::Direct:
    return {/*parts=*/0,
            /*isFp32=*/false,
            /*leastColumns=*/1,
            /*hasPartialSums=*/false,
            /*usesTensorCores=*/true,
            /*operations=*/2};
  case ProductMethod::FP16:
    return {/*parts=*/1,
            /*isFp32=*/false,
            /*leastColumns=*/1,
            /*hasPartialSums=*/false,
            /*usesTensorCores=*/true,
            /*operations=*/2};
  case ProductMethod::FP16x3: // of 64 columns, 32 are hi and 32 lo; lo times
                              // lo is left out
    return {/*parts=*/2,
            /*isFp32=*/true,
            /*leastColumns=*/64,
            /*hasPartialSums=*/true,
            /*usesTensorCores=*/true,
            /*operations=*/3};
  case ProductMethod::FMA:
    return {/*parts=*/0,
            /*isFp32=*/true,
            /*leastColumns=*/1,
            /*hasPartialSums=*/true,
            /*usesTensorCores=*/false,
            /*operations=*/2};
  }
}

} // namespace mlir::tenon

#endif // TENON_DIALECT_TENON_IR_METHODTRAITS_H
