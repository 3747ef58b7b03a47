//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the steps that finish what is held of a tile with swapped operands.
//
//===----------------------------------------------------------------------===//

#include "Codegen/CUDA/Emit/PackedElements.h"
#include "SwappedSubtile.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tenon;

/// A step is a subtile, or half of one that takes longer than a stage's
/// products. Blocks of 16 bits are read and written in pairs.
unsigned SwappedEpilogue::getStepBlocks() {
  unsigned blocks = getSubtileBlocks();
  if (!isLong())
    return blocks;
  if (copies->subtiles.areNarrow())
    return blocks % 4 == 0 ? blocks / 2 : blocks;
  int64_t held = copies->subtiles.getCount() - getFirstHeld();
  bool fits = frame.geometry.kTiles() > 2 + 2 * held;
  return blocks % 2 == 0 && fits ? blocks / 2 : blocks;
}

int64_t SwappedEpilogue::getStepsOfSubtile() {
  return getSubtileBlocks() / getStepBlocks();
}

int64_t SwappedEpilogue::getNumSteps() {
  int64_t held = copies->subtiles.getCount() - getFirstHeld();
  return held * getStepsOfSubtile();
}

/// Those of a subtile. Where no products hide them those of 64 rows, if so many
/// divide what is held: they wait for each other less.
int64_t SwappedEpilogue::getStepsOfBody(bool besideProducts) {
  if (besideProducts)
    return getStepsOfSubtile();
  int64_t held = copies->subtiles.getCount() - getFirstHeld();
  int64_t most = llvm::divideCeil(EpilogueSubtiles::kRows, rows);
  return std::gcd(held, most) * getStepsOfSubtile();
}

/// The steps of a loop, if K leaves time for the next tile's operands too.
bool SwappedEpilogue::isSpread() {
  constexpr int64_t toLoad = 8; // stages
  return isLoop() && frame.geometry.kTiles() >= 2 + 2 * getNumSteps() + toLoad;
}

/// How long to pause before each load for the next tile that is done as this
/// one's last step is: of all multiprocessors at once they would keep x and w
/// from them. What measured well, if that is half the time left at most.
int64_t SwappedEpilogue::getPause() {
  constexpr int64_t most = 1000, productsPerNanosecond = 2048 * 7 / 4;
  const TileGeometry &geometry = frame.geometry;
  int64_t stages = geometry.kTiles() - 2 - getStagesOfSteps();
  int64_t products = geometry.tileM * geometry.tileN * geometry.tileK * stages;
  return std::clamp<int64_t>(products / productsPerNanosecond / 2 /
                                 copies->subtiles.numBuffers,
                             0, most);
}

/// The elements of a block of what is held.
SmallVector<Value> SwappedEpilogue::getHeldBlock(ValueRange held,
                                                 unsigned block) {
  SmallVector<Value> elements;
  unsigned values = Subtile::kElements / (heldType ? 2 : 1);
  for (Value value : held.slice(block * values, values)) {
    Value anew = b.readAnew(value);
    if (heldType)
      llvm::append_range(elements, extendElements(b, anew));
    else
      elements.push_back(anew);
  }
  return elements;
}

/// The subtile of a step. Those of a loop's body are whole ones.
Value SwappedEpilogue::getSubtile(DeferredStep step) {
  int64_t steps = getStepsOfSubtile();
  int64_t known = getFirstHeld() + step.number / steps;
  return step.first ? b.add(b.div(step.first, steps), known) : b.i32(known);
}

void SwappedEpilogue::emitStep(const WorkItem &item, Value /*turn*/,
                               DeferredStep step, ValueRange loaded,
                               ValueRange held) {
  unsigned blocks = getStepBlocks();
  unsigned begin = step.number % getStepsOfSubtile() * blocks;
  unsigned firstHeld = step.first ? 0 : step.number * blocks;
  Value number = getSubtile(step);
  emitBlocks(item, number, begin, begin + blocks, loaded, getHeldTensor(),
             [&](unsigned block) {
               return getHeldBlock(held, firstHeld + block - begin);
             });
  if (begin + blocks != getSubtileBlocks())
    return;
  copies->release(number);
  if (!step.first)
    storeMoments(item, *getConstantIntValue(number));
}
