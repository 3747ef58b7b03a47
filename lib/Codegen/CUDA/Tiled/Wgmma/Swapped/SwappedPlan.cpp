//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is held of a tile with swapped operands, and in which steps it is
// finished.
//
//===----------------------------------------------------------------------===//

#include "SwappedPlan.h"

#include "mlir/IR/TypeUtilities.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tenon;

SwappedPlan::SwappedPlan(const TileGeometry &geometry, TiledLinearOp op,
                         const EpilogueSubtiles *subtiles)
    : geometry(geometry), products(op.getAccumulators()),
      plan(*EpiloguePlan::get(*op.getBody())), subtiles(subtiles),
      rows(subtiles ? subtiles->rows : SwappedBlock::kBlockRows) {
  for (BlockArgument operand : getPhase().operands)
    if (!llvm::is_contained(products, operand) &&
        EpiloguePlan::variesByRow(operand.getType()) &&
        !(subtiles && EpiloguePlan::variesByColumn(operand.getType())))
      rowOperands.push_back(operand);
  givesMoments = llvm::any_of(op.getYield().getValues(), [](Value value) {
    return isa_and_nonnull<MomentsOp>(value.getDefiningOp());
  });
  heldType = findHeldType();
}

unsigned SwappedPlan::getSubtileBlocks() const {
  return rows / SwappedBlock::kBlockRows;
}

int64_t SwappedPlan::getSubtilesOfColumns() const {
  return geometry.tileM / rows;
}

bool SwappedPlan::isLong() const {
  return !subtiles->operands.empty() || getPhase().isHeavy();
}

/// Whether what is held of a long epilogue may be finished in a loop. Not if
/// its subtiles are not alike: with moments.
bool SwappedPlan::mayBeLoop() const {
  if (!geometry.schedule.getDefer() || geometry.isResident() || !subtiles ||
      givesMoments || geometry.m == 1 || !isLong())
    return false;
  return subtiles->getCount() % subtiles->numBuffers == 0;
}

/// Nor if they are of other columns, or there is only one.
bool SwappedPlan::isLoop() const {
  if (!mayBeLoop())
    return false;
  int64_t first = getFirstHeld(), last = subtiles->getCount() - 1;
  return first < last &&
         first / getSubtilesOfColumns() == last / getSubtilesOfColumns();
}

/// The type of 16 bits to which the product may be rounded, so that all of a
/// tile is held, two elements in a register. None where it is of another type,
/// without so many products, or without the loop: spelled out, so many subtiles
/// would take twice as long to compile.
Type SwappedPlan::findHeldType() const {
  if (!isLoop() || geometry.wgmmaBlocks() != 1 ||
      geometry.kTiles() <= 2 + subtiles->getCount() * getStepsOfSubtile())
    return Type();
  Type type = getElementTypeOrSelf(products.front());
  return type.isF16() || type.isBF16() ? type : Type();
}

/// What of the region is held: what the product's only use makes of it, if that
/// adds one value a column or, where rows are split, multiplies by w's factors,
/// which is exact (Unscale.h); else the product, or all of them. Any other
/// multiplication would be rounded, while of elements that are not held it is
/// one with an addition.
SmallVector<Value> SwappedPlan::getHeldTensors() const {
  Value product = products.front();
  if (heldType || products.size() != 1 || !product.hasOneUse())
    return products;
  Operation *user = *product.user_begin();
  if (!isa<AddOp>(user) && !geometry.schedule.isSplit())
    return products;
  bool isOfColumns = llvm::all_of(user->getOperands(), [&](Value operand) {
    return operand == product || !EpiloguePlan::variesByRow(operand.getType());
  });
  return isOfColumns ? SmallVector<Value>{user->getResult(0)} : products;
}

/// Operands that the threads load: of one value a row or a column.
int64_t SwappedPlan::getNumThreadOperands() const {
  auto isOfColumns = [](BlockArgument operand) {
    return EpiloguePlan::variesByColumn(operand.getType()) &&
           !EpiloguePlan::variesByRow(operand.getType());
  };
  return rowOperands.size() + llvm::count_if(getPhase().operands, isOfColumns);
}

/// Subtiles whose steps the products of K hide, each in two halves if it has
/// two.
int64_t SwappedPlan::getNumHidden() const {
  int64_t steps = getSubtileBlocks() % 2 == 0 ? 2 : 1;
  return (geometry.kTiles() - 3) / steps;
}

/// Whether a loop leaves registers for more than spelled-out steps do: beside
/// no division, nor more operands than the factors of method fp16 and a bias.
bool SwappedPlan::isRoomy() const {
  return mayBeLoop() && geometry.wgmmaBlocks() == 1 &&
         rowOperands.size() <= 1 && getNumThreadOperands() <= 3 &&
         !getPhase().divides();
}

/// Subtiles at most that are held: more in a loop, but a few less where M is
/// found out at run time, or subtiles are large.
int64_t SwappedPlan::getMostHeld() const {
  constexpr int64_t usual = 64, crowded = 48;
  int64_t ofSubtile = getSubtileBlocks() * getBlockElements();
  bool isTight = ShapedType::isDynamic(geometry.m) || ofSubtile > 8;
  int64_t inLoop = isTight ? 80 : 96;
  int64_t most = usual / ofSubtile;
  if (mayBeLoop() && (getPhase().divides() || getNumThreadOperands() > 4))
    return crowded / ofSubtile;
  if (!isRoomy() || subtiles->areNarrow() || getSubtileBlocks() > 4)
    return most;
  // An even number, so that after the last turn a body has two or more; but
  // large subtiles are five, one to a body, where K hides six.
  int64_t hidden = llvm::alignDown(getNumHidden(), 2);
  return std::max(most, std::min(inLoop / ofSubtile, hidden));
}

/// The first subtile that is held: later ones have no more accumulators than
/// there are registers for, and rows that have moments together are not
/// divided.
int64_t SwappedPlan::getFirstHeld() const {
  if (heldType)
    return 0;
  int64_t count = subtiles->getCount();
  int64_t first = std::max<int64_t>(count - getMostHeld(), 0);
  auto cutsRows = [&](int64_t number) {
    return number * rows % geometry.tileM % EpilogueSubtiles::kRows != 0;
  };
  while (givesMoments && first != count && cutsRows(first))
    ++first;
  return first;
}

SmallVector<Type> SwappedPlan::getHeldTypes() const {
  int64_t held = subtiles->getCount() - getFirstHeld();
  size_t elements = held * getSubtileBlocks() * getBlockElements();
  if (!heldType)
    return SmallVector<Type>(elements,
                             Float32Type::get(products.front().getContext()));
  return SmallVector<Type>(elements / 2, VectorType::get(2, heldType));
}

/// A step is a subtile, or half of one that takes longer than a stage's
/// products. Blocks of 16 bits are read and written in pairs.
unsigned SwappedPlan::getStepBlocks() const {
  unsigned blocks = getSubtileBlocks();
  if (!isLong())
    return blocks;
  if (subtiles->areNarrow())
    return blocks % 4 == 0 ? blocks / 2 : blocks;
  int64_t held = subtiles->getCount() - getFirstHeld();
  bool fits = geometry.kTiles() > 2 + 2 * held;
  return blocks % 2 == 0 && fits ? blocks / 2 : blocks;
}

int64_t SwappedPlan::getStepsOfSubtile() const {
  return getSubtileBlocks() / getStepBlocks();
}

int64_t SwappedPlan::getNumSteps() const {
  int64_t held = subtiles->getCount() - getFirstHeld();
  return held * getStepsOfSubtile();
}

/// Those of a subtile. Where no products hide them those of 64 rows, if so many
/// divide what is held: they wait for each other less.
int64_t SwappedPlan::getStepsOfBody(bool besideProducts) const {
  if (besideProducts)
    return getStepsOfSubtile();
  int64_t held = subtiles->getCount() - getFirstHeld();
  int64_t most = llvm::divideCeil(EpilogueSubtiles::kRows, rows);
  return std::gcd(held, most) * getStepsOfSubtile();
}

/// The steps of a loop, if K leaves time for the next tile's operands too.
bool SwappedPlan::isSpread() const {
  constexpr int64_t toLoad = 8; // stages
  return isLoop() && geometry.kTiles() >= 2 + 2 * getNumSteps() + toLoad;
}

/// How long to pause before each load for the next tile that is done as this
/// one's last step is: of all multiprocessors at once they would keep x and w
/// from them. What measured well, if that is half the time left at most.
int64_t SwappedPlan::getPause() const {
  constexpr int64_t most = 1000, productsPerNanosecond = 2048 * 7 / 4;
  int64_t stages = geometry.kTiles() - 2 - getStagesOfSteps();
  int64_t sums = geometry.tileM * geometry.tileN * geometry.weights;
  return std::clamp<int64_t>(sums * geometry.tileK * stages /
                                 productsPerNanosecond / 2 /
                                 subtiles->numBuffers,
                             0, most);
}
