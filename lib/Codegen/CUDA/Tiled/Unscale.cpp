//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes the scale of split rows out of their products.
//
//===----------------------------------------------------------------------===//

#include "Unscale.h"

using namespace mlir;
using namespace mlir::tenon;

void tenon::addUnscale(TiledLinearOp op) {
  if (!op.getSchedule().isSplit())
    return;
  Location loc = op.getLoc();
  Block *body = op.getBody();
  SmallVector<int64_t> shape = op.getProductShape();
  auto add = [&](ArrayRef<int64_t> extents) {
    Type f32 = Float32Type::get(op.getContext());
    return body->addArgument(RankedTensorType::get(extents, f32), loc);
  };
  Value ofRows = add({shape[0], 1});
  OpBuilder b = OpBuilder::atBlockBegin(body);
  for (unsigned weight = 0; weight != op.getNumWeights(); ++weight) {
    Value product = body->getArgument(weight), ofColumns = add({shape[1]});
    // One after the other: the product of both may leave f32's range where the
    // result does not, and the first multiplication is exact.
    auto once = MulOp::create(b, loc, product, ofColumns);
    auto both = MulOp::create(b, loc, once, ofRows);
    product.replaceAllUsesExcept(both, once);
  }
}
