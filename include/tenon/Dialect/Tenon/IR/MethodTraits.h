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

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <cstdint>

namespace mlir::tenon {

/// A product of one part of an element of x and one of w.
struct PartProduct {
  unsigned ofX, ofW;
};

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
  /// What it multiplies of each element, in this order: small products first,
  /// since what they lose as they are added is less.
  llvm::ArrayRef<PartProduct> products;

  bool isSplit() const { return parts != 0; }
  /// Whether tensor cores take elements from where they lie in x and w.
  bool readsElements() const { return !isSplit() && usesTensorCores; }
  /// Parts as which an element is read.
  unsigned getNumParts() const { return std::max(parts, 1u); }
  /// Products and sums, counted as two, for each column of x and w as they are
  /// read, and each result.
  double getOperations() const { return 2.0 * products.size() / getNumParts(); }
};

namespace detail {
inline constexpr PartProduct kWhole[] = {{0, 0}};
/// Of hi, part 0, and lo; lo times lo is below what f32 keeps.
inline constexpr PartProduct kHiAndLo[] = {{1, 0}, {0, 1}, {0, 0}};
} // namespace detail

inline MethodTraits getTraits(ProductMethod method) {
  switch (method) {
  case ProductMethod::Direct:
    return {/*parts=*/0,
            /*isFp32=*/false,
            /*leastColumns=*/1,
            /*hasPartialSums=*/false,
            /*usesTensorCores=*/true,
            /*products=*/detail::kWhole};
  case ProductMethod::FP16:
    return {/*parts=*/1,
            /*isFp32=*/false,
            /*leastColumns=*/1,
            /*hasPartialSums=*/false,
            /*usesTensorCores=*/true,
            /*products=*/detail::kWhole};
  case ProductMethod::FP16x3: // of 64 columns, 32 are hi and 32 lo
    return {/*parts=*/2,
            /*isFp32=*/true,
            /*leastColumns=*/64,
            /*hasPartialSums=*/true,
            /*usesTensorCores=*/true,
            /*products=*/detail::kHiAndLo};
  case ProductMethod::FP8: // Hopper's sums of them have 14 bits
    return {/*parts=*/0,
            /*isFp32=*/false,
            /*leastColumns=*/1,
            /*hasPartialSums=*/true,
            /*usesTensorCores=*/true,
            /*products=*/detail::kWhole};
  case ProductMethod::FMA:
    return {/*parts=*/0,
            /*isFp32=*/true,
            /*leastColumns=*/1,
            /*hasPartialSums=*/true,
            /*usesTensorCores=*/false,
            /*products=*/detail::kWhole};
  }
}

} // namespace mlir::tenon

#endif // TENON_DIALECT_TENON_IR_METHODTRAITS_H
