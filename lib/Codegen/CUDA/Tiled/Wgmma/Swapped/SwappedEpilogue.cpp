//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the epilogue of a tile of the transposed product, subtile by subtile.
//
//===----------------------------------------------------------------------===//

#include "SwappedEpilogue.h"

#include "Codegen/CUDA/Emit/PackedElements.h"
#include "SwappedSubtile.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

using namespace mlir;
using namespace mlir::tenon;

SwappedEpilogue::SwappedEpilogue(TiledFrame &frame, TiledLinearOp op,
                                 std::optional<EpilogueSubtiles> subtiles)
    : tile(frame, op, std::move(subtiles)), frame(frame), b(frame.b), op(op) {}

/// Accumulators of a thread at most that leave registers for operands.
static constexpr int64_t kRoomyAccumulators = 128;

/// The tensors of which `emit` is given the elements.
SmallVector<Value> SwappedEpilogue::getComputed() {
  if (tile.columns.finished)
    return llvm::to_vector(tile.columns.finished->getGiven());
  return SmallVector<Value>(op.getAccumulators());
}

/// Those of all products of a block one after the other.
SmallVector<Value> SwappedEpilogue::getByBlock(ValueRange accumulators) {
  SmallVector<Value> byBlock;
  size_t weights = frame.geometry.weights;
  size_t ofWeight = accumulators.size() / weights;
  for (size_t i = 0; i != ofWeight; i += SwappedBlock::kElements)
    for (size_t weight = 0; weight != weights; ++weight)
      llvm::append_range(byBlock, accumulators.slice(weight * ofWeight + i,
                                                     SwappedBlock::kElements));
  return byBlock;
}

void SwappedEpilogue::prepare(const WorkItem &item) {
  if (!tile.copies)
    return;
  bool isRoomy = getAccumulators(frame.geometry.schedule) <= kRoomyAccumulators;
  if (isRoomy)
    prepareAll(item);
  // Without waits between them ptxas computes so many subtiles at once that
  // long epilogues spill.
  if (isRoomy || !tile.plan.isLong())
    tile.copies->acquireAhead(tile.copies->subtiles.getCount());
}

void SwappedEpilogue::prepareTile(const WorkItem &item) {
  if (tile.plan.getFirstHeld() == 0) {
    if (tile.plan.getHeldTensors().front() != op.getAccumulator())
      tile.columns.prepare(item);
    return;
  }
  prepareOperands(item, 0, tile.plan.getFirstHeld());
  tile.copies->acquireAhead(tile.plan.getFirstHeld());
}

void SwappedEpilogue::prepareAll(const WorkItem &item) {
  prepareOperands(item, 0, tile.copies->subtiles.getCount());
}

void SwappedEpilogue::prepareHeld(const WorkItem &item) {
  if (!tile.plan.isLoop())
    return prepareOperands(item, tile.plan.getFirstHeld(),
                           tile.copies->subtiles.getCount());
  tile.columns.prepare(item);
}

void SwappedEpilogue::prepareOperands(const WorkItem &item, int64_t first,
                                      int64_t end) {
  tile.rows.prepare(item, first, end);
  tile.columns.prepare(item);
}

/// Blocks `begin` to `end` of a subtile, all of which come one after the other.
void SwappedEpilogue::emitBlocks(const WorkItem &item, Value number,
                                 unsigned begin, unsigned end,
                                 ValueRange ofStep, ValueRange tensors,
                                 GetElements getElements) {
  // Else LLVM would keep the places of all subtiles from one to the next.
  frame.computePlace();
  unsigned column = tile.getFirstColumn(number);
  if (column == tile.columns.emitters.size())
    tile.columns.prepare(item, column / SwappedBlock::kColumns);
  int64_t known = getConstantIntValue(number).value_or(0);
  if (tile.columns.finished && begin == 0 &&
      known % tile.plan.getSubtilesOfColumns() == 0)
    for (unsigned i = column; i != column + SwappedBlock::kColumns; ++i)
      tile.columns.finished->set(*tile.columns.emitters[i],
                                 tile.columns.getInTile(i), /*lanes=*/1);
  SwappedSubtile subtile(tile, item, number, ofStep);
  subtile.loadOperands(begin, end);
  for (unsigned i = begin; i != end; ++i)
    subtile.emitBlock(i, tensors, getElements(i));
}

void SwappedEpilogue::emitSubtile(const WorkItem &item, int64_t number,
                                  GetElements getElements) {
  emitBlocks(item, b.i32(number), 0, tile.plan.getSubtileBlocks(), {},
             getComputed(), getElements);
  tile.copies->release(number, number + 1);
  tile.storeMoments(item, number);
}

/// The tile's first `count` subtiles, `together` of them released at a time.
void SwappedEpilogue::emitSubtiles(const WorkItem &item, int64_t count,
                                   int64_t together, ValueRange accumulators) {
  unsigned blocks = tile.plan.getSubtileBlocks();
  unsigned ofBlock = tile.plan.getBlockElements();
  for (int64_t number = 0; number != count; ++number) {
    emitBlocks(
        item, b.i32(number), 0, blocks, {}, getComputed(), [&](unsigned block) {
          return SmallVector<Value>(
              accumulators.slice((number * blocks + block) * ofBlock, ofBlock));
        });
    int64_t first = number / together * together;
    if (tile.copies && (number + 1 == count || number + 1 == first + together))
      tile.copies->release(first, number + 1);
    tile.storeMoments(item, number);
  }
}

void SwappedEpilogue::emit(const WorkItem &item, ValueRange accumulators) {
  size_t ofSubtile =
      tile.plan.getSubtileBlocks() * tile.plan.getBlockElements();
  emitSubtiles(item, accumulators.size() / ofSubtile, /*together=*/1,
               getByBlock(accumulators));
  tile.end();
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
  Value product = op.getAccumulator(),
        tensor = tile.plan.getHeldTensors().front();
  Value one = tensor == product ? getOpaqueOne(frame) : Value();
  for (auto &emitter : tile.columns.emitters)
    emitter->beginRows({}, {});
  SmallVector<Value> held;
  size_t first = tile.plan.getFirstHeld() * tile.plan.getSubtileBlocks() *
                 tile.plan.getBlockElements();
  for (size_t i = first; i != accumulators.size(); ++i) {
    Value element = accumulators[i];
    if (one) {
      held.push_back(arith::MulFOp::create(b, element, one));
      continue;
    }
    ElementEmitter &emitter = *tile.columns.emitters[tile.columns.getNumber(i)];
    emitter.set(product, /*row=*/i, /*lane=*/0, element);
    held.push_back(emitter.get(tensor, /*row=*/i, /*lane=*/0));
  }
  return held;
}

SmallVector<Value> SwappedEpilogue::hold(const WorkItem &item, Value /*turn*/,
                                         ValueRange byWeight) {
  SmallVector<Value> held, accumulators = getByBlock(byWeight);
  if (tile.plan.getHeldType()) {
    for (size_t i = 0; i != accumulators.size(); i += 2)
      held.push_back(roundPair(b, accumulators[i], accumulators[i + 1],
                               tile.plan.getHeldType()));
    return held;
  }
  // Unless buffers are to take operands once more, nobody waits for these
  // copies now, and a release of each would take as long as all that a bias
  // needs.
  int64_t count = tile.plan.getFirstHeld();
  const EpilogueSubtiles &subtiles = tile.copies->subtiles;
  bool loadsMore = !subtiles.operands.empty() && count > subtiles.numBuffers;
  int64_t together = loadsMore ? 1 : subtiles.getMostTogether(count);
  emitSubtiles(item, count, together, accumulators);
  held = copyHeld(accumulators);
  tile.forgetOperands();
  return held;
}

/// The elements of a block of what is held.
SmallVector<Value> SwappedEpilogue::getHeldBlock(ValueRange held,
                                                 unsigned block) {
  SmallVector<Value> elements;
  unsigned values =
      tile.plan.getBlockElements() / (tile.plan.getHeldType() ? 2 : 1);
  for (Value value : held.slice(block * values, values)) {
    Value anew = b.readAnew(value);
    if (tile.plan.getHeldType())
      llvm::append_range(elements, extendElements(b, anew));
    else
      elements.push_back(anew);
  }
  return elements;
}

/// The subtile of a step. Those of a loop's body are whole ones.
Value SwappedEpilogue::getSubtile(DeferredStep step) {
  int64_t steps = tile.plan.getStepsOfSubtile();
  int64_t known = tile.plan.getFirstHeld() + step.number / steps;
  return step.first ? b.add(b.div(step.first, steps), known) : b.i32(known);
}

SmallVector<Value> SwappedEpilogue::loadStep(const WorkItem &item,
                                             DeferredStep step) {
  if (!tile.rows.areAhead())
    return {};
  int64_t begin =
      step.number % tile.plan.getStepsOfSubtile() * tile.plan.getStepBlocks();
  return tile.rows.loadBlocks(item, tile.getFirstRow(getSubtile(step)), begin,
                              begin + tile.plan.getStepBlocks());
}

void SwappedEpilogue::emitStep(const WorkItem &item, Value /*turn*/,
                               DeferredStep step, ValueRange loaded,
                               ValueRange held) {
  unsigned blocks = tile.plan.getStepBlocks();
  unsigned begin = step.number % tile.plan.getStepsOfSubtile() * blocks;
  unsigned firstHeld = step.first ? 0 : step.number * blocks;
  Value number = getSubtile(step);
  emitBlocks(item, number, begin, begin + blocks, loaded,
             tile.plan.getHeldTensors(), [&](unsigned block) {
               return getHeldBlock(held, firstHeld + block - begin);
             });
  if (begin + blocks != tile.plan.getSubtileBlocks())
    return;
  tile.copies->release(number);
  if (!step.first)
    tile.storeMoments(item, *getConstantIntValue(number));
}
