//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// M, N and K of a product, by its layout. Tenon.h includes it, behind the
// enums.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_PRODUCTEXTENTS_H
#define TENON_DIALECT_TENON_IR_PRODUCTEXTENTS_H

#include "mlir/IR/BuiltinTypeInterfaces.h"

#include <optional>

namespace mlir::tenon {

/// Whether x is [K, M]. Without a layout it is not.
constexpr bool isXTransposed(std::optional<OperandLayout> layout) {
  return layout == OperandLayout::KM_NK || layout == OperandLayout::KM_KN;
}

/// Whether w is [K, N].
constexpr bool isWTransposed(std::optional<OperandLayout> layout) {
  return layout == OperandLayout::MK_KN || layout == OperandLayout::KM_KN;
}

/// M may be ShapedType::kDynamic.
struct ProductExtents {
  int64_t m, n, k;
};

/// K is w's.
inline ProductExtents getProductExtents(ShapedType x, ShapedType w,
                                        std::optional<OperandLayout> layout) {
  bool turnsX = isXTransposed(layout), turnsW = isWTransposed(layout);
  return {x.getDimSize(turnsX ? 1 : 0), w.getDimSize(turnsW ? 1 : 0),
          w.getDimSize(turnsW ? 0 : 1)};
}

} // namespace mlir::tenon

#endif // TENON_DIALECT_TENON_IR_PRODUCTEXTENTS_H
