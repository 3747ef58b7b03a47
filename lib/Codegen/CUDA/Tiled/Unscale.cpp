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
  Value ofRows = add({shape[0], 1}), ofColumns = add({shape[1]});
  OpBuilder b = OpBuilder::atBlockBegin(body);
  // The factors' product first, twice: their squares may leave f32's range
  // where the result does not.
  Value scale = MulOp::create(b, loc, ofRows, ofColumns);
  Value product = op.getAccumulator();
  llvm::SmallPtrSet<Operation *, 2> own;
  for (int time = 0; time != 2; ++time) {
    product = MulOp::create(b, loc, product, scale);
    own.insert(product.getDefiningOp());
  }
  op.getAccumulator().replaceAllUsesExcept(product, own);
}
