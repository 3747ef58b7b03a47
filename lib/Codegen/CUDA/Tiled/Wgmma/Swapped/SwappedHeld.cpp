//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is held of a tile with swapped operands, as SwappedSteps.cpp finishes
// it.
//
//===----------------------------------------------------------------------===//

#include "Codegen/CUDA/Emit/PackedElements.h"
#include "SwappedSubtile.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tenon;

bool SwappedEpilogue::isLong() const {
  return !copies->subtiles.operands.empty() ||
         plan.getPhases().back().isHeavy();
}

/// Whether what is held of a long epilogue may be finished in a loop. Not if
/// its subtiles are not alike: with moments.
bool SwappedEpilogue::mayBeLoop() {
  const TileGeometry &geometry = frame.geometry;
  if (!geometry.schedule.getDefer() || geometry.isResident() || !copies ||
      !moments.empty() || geometry.m == 1 || !isLong())
    return false;
  return copies->subtiles.getCount() % copies->subtiles.numBuffers == 0;
}

/// Nor if they are of other columns, or there is only one.
bool SwappedEpilogue::isLoop() {
  if (!mayBeLoop())
    return false;
  int64_t first = getFirstHeld(), last = copies->subtiles.getCount() - 1;
  return first < last &&
         first / getSubtilesOfColumns() == last / getSubtilesOfColumns();
}

/// The type of 16 bits to which the product may be rounded, so that all of a
/// tile is held, two elements in a register. None where it is of another type,
/// without so many products, or without the loop: spelled out, so many subtiles
/// would take twice as long to compile.
Type SwappedEpilogue::findHeldType() {
  if (!isLoop() || frame.geometry.wgmmaBlocks() != 1 ||
      frame.geometry.kTiles() <=
          2 + copies->subtiles.getCount() * getStepsOfSubtile())
    return Type();
  Type type = getElementTypeOrSelf(op.getAccumulator());
  return type.isF16() || type.isBF16() ? type : Type();
}

/// What of the region is held: what the product's only use makes of it, if that
/// adds one value a column or, where rows are split, multiplies by w's factors,
/// which is exact (Unscale.h); else the product. Any other multiplication would
/// be rounded, while of elements that are not held it is one with an addition.
Value SwappedEpilogue::getHeldTensor() {
  Value product = op.getAccumulator();
  if (heldType || !product.hasOneUse())
    return product;
  Operation *user = *product.user_begin();
  if (!isa<AddOp>(user) && !frame.geometry.schedule.isSplit())
    return product;
  bool isOfColumns = llvm::all_of(user->getOperands(), [&](Value operand) {
    return operand == product || !EpiloguePlan::variesByRow(operand.getType());
  });
  return isOfColumns ? user->getResult(0) : product;
}

/// Operands that the threads load: of one value a row or a column.
int64_t SwappedEpilogue::getNumThreadOperands() {
  auto isOfColumns = [](BlockArgument operand) {
    return EpiloguePlan::variesByColumn(operand.getType()) &&
           !EpiloguePlan::variesByRow(operand.getType());
  };
  return perRow.size() +
         llvm::count_if(plan.getPhases().back().operands, isOfColumns);
}

/// Subtiles whose steps the products of K hide, each in two halves if it has
/// two.
int64_t SwappedEpilogue::getNumHidden() {
  int64_t steps = getSubtileBlocks() % 2 == 0 ? 2 : 1;
  return (frame.geometry.kTiles() - 3) / steps;
}

/// Whether a loop leaves registers for more than spelled-out steps do: beside
/// no division, nor more operands than the factors of method fp16 and a bias.
bool SwappedEpilogue::isRoomy() {
  return mayBeLoop() && frame.geometry.wgmmaBlocks() == 1 &&
         perRow.size() <= 1 && getNumThreadOperands() <= 3 &&
         !plan.getPhases().back().divides();
}

/// Subtiles at most that are held: more in a loop, but a few less where M is
/// found out at run time, or subtiles are large.
int64_t SwappedEpilogue::getMostHeld() {
  constexpr int64_t usual = 64, crowded = 48;
  int64_t ofSubtile = getSubtileBlocks() * Subtile::kElements;
  bool isTight = ShapedType::isDynamic(frame.geometry.m) || ofSubtile > 8;
  int64_t inLoop = isTight ? 80 : 96;
  int64_t most = usual / ofSubtile;
  if (mayBeLoop() &&
      (plan.getPhases().back().divides() || getNumThreadOperands() > 4))
    return crowded / ofSubtile;
  if (!isRoomy() || copies->subtiles.areNarrow() || getSubtileBlocks() > 4)
    return most;
  // An even number, so that after the last turn a body has two or more; but
  // large subtiles are five, one to a body, where K hides six.
  int64_t hidden = llvm::alignDown(getNumHidden(), 2);
  return std::max(most, std::min(inLoop / ofSubtile, hidden));
}

/// The first subtile that is held: later ones have no more accumulators than
/// there are registers for, and rows that have moments together are not
/// divided.
int64_t SwappedEpilogue::getFirstHeld() {
  if (heldType)
    return 0;
  int64_t count = copies->subtiles.getCount();
  int64_t first = std::max<int64_t>(count - getMostHeld(), 0);
  auto cutsRows = [&](int64_t number) {
    return number * rows % frame.geometry.tileM % EpilogueSubtiles::kRows != 0;
  };
  while (!moments.empty() && first != count && cutsRows(first))
    ++first;
  return first;
}

SmallVector<Type> SwappedEpilogue::getHeldTypes() {
  int64_t held = copies->subtiles.getCount() - getFirstHeld();
  size_t elements = held * getSubtileBlocks() * Subtile::kElements;
  if (!heldType)
    return SmallVector<Type>(elements, b.getF32Type());
  return SmallVector<Type>(elements / 2, VectorType::get(2, heldType));
}

/// A 1.0 that ptxas does not know to be one.
static Value getOpaqueOne(TiledFrame &frame) {
  KernelBuilder &b = frame.b;
  Value zero = b.shiftRight(frame.m, 31);
  Value bits = b.bitOr(zero, b.i32(llvm::bit_cast<int32_t>(1.0f)));
  return LLVM::BitcastOp::create(b, b.getF32Type(), bits);
}

/// The elements as they are held, in other registers than the accumulators,
/// which ptxas takes for other numbers: as long as one accumulator of a wgmma
/// is live in its own register, it keeps all.
SmallVector<Value> SwappedEpilogue::copyHeld(ValueRange accumulators) {
  Value product = op.getAccumulator(), tensor = getHeldTensor();
  Value one = tensor == product ? getOpaqueOne(frame) : Value();
  for (auto &emitter : emitters)
    emitter->beginRows({}, {});
  SmallVector<Value> held;
  size_t first = getFirstHeld() * getSubtileBlocks() * Subtile::kElements;
  for (size_t i = first; i != accumulators.size(); ++i) {
    Value element = accumulators[i];
    if (one) {
      held.push_back(arith::MulFOp::create(b, element, one));
      continue;
    }
    ElementEmitter &emitter = *emitters[getColumn(i)];
    emitter.set(product, /*row=*/i, /*lane=*/0, element);
    held.push_back(emitter.get(tensor, /*row=*/i, /*lane=*/0));
  }
  return held;
}

SmallVector<Value> SwappedEpilogue::hold(const WorkItem &item, Value /*turn*/,
                                         ValueRange accumulators) {
  SmallVector<Value> held;
  if (heldType) {
    for (size_t i = 0; i != accumulators.size(); i += 2)
      held.push_back(
          roundPair(b, accumulators[i], accumulators[i + 1], heldType));
    return held;
  }
  // Unless buffers are to take operands once more, nobody waits for these
  // copies now, and a release of each would take as long as all that a bias
  // needs.
  int64_t count = getFirstHeld();
  const EpilogueSubtiles &subtiles = copies->subtiles;
  bool loadsMore = !subtiles.operands.empty() && count > subtiles.numBuffers;
  int64_t together = loadsMore ? 1 : subtiles.getMostTogether(count);
  emitSubtiles(item, count, together, accumulators);
  held = copyHeld(accumulators);
  forgetOperands();
  return held;
}
