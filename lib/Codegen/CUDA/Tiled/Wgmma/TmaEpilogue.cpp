//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the epilogue's region on fragments.
//
//===----------------------------------------------------------------------===//

#include "TmaEpilogue.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

#include "Codegen/CUDA/Tiled/TileEpilogue.h"
#include "Codegen/CUDA/Tiled/Wgmma/Subtiles/SubtileFragments.h"

using namespace mlir;
using namespace mlir::tenon;

/// A thread's elements of a block of 8 columns: two rows of two.
static constexpr unsigned kRows = 2, kLanes = 2, kElements = kRows * kLanes;

TmaEpilogue::TmaEpilogue(TiledFrame &frame, TiledLinearOp op,
                         EpilogueSubtiles subtiles)
    : copies(frame, std::move(subtiles)), frame(frame), b(frame.b), op(op),
      phase(getEpiloguePhase(op)) {
  for (BlockArgument operand : phase.operands)
    if (EpiloguePlan::variesByRow(operand.getType()) &&
        !EpiloguePlan::variesByColumn(operand.getType()))
      perRow.push_back(operand);
  // Enough for loads to arrive in time, where accumulators leave registers for
  // them. There are more with ping-pong alone, where another warpgroup has
  // something to do meanwhile.
  int64_t rowBlocks = copies.subtiles.rowBlocks;
  int64_t numAccumulators =
      rowBlocks * frame.geometry.weights * frame.geometry.tileN / 2;
  hasRoom = getAccumulators(frame.geometry.schedule) <= 128;
  keepsValues = numAccumulators <= 128;
  blocksAhead = keepsValues ? 8 : 2;
  emitters.resize(rowBlocks * frame.geometry.tileN / 8);
}

/// Loads what is the same in all rows of a block of the tile.
void TmaEpilogue::prepareBlock(const WorkItem &item, int64_t block) {
  if (block >= static_cast<int64_t>(emitters.size()))
    return;
  int64_t inTile = block % (frame.geometry.tileN / 8) * 8;
  Value inBlock = frame.getLanePair();
  Value column = b.add(item.column, inBlock);
  if (frame.geometry.hasRaggedColumns())
    column =
        b.toI64(b.min(b.add(column, inTile), b.i32(frame.geometry.n - kLanes)));
  else // so that what is constant becomes part of the load
    column = b.add(b.toI64(column), inTile);
  emitters[block] =
      std::make_unique<ElementEmitter>(b, frame.operands, column, kLanes);
  emitters[block]->emitRowInvariant(phase);
  if (finished)
    finished->loadOperands(*emitters[block], kLanes);
}

/// A subtile while it is computed.
class TmaEpilogue::Subtile {
public:
  Subtile(TmaEpilogue &epilogue, const WorkItem &item, int64_t number);

  void loadRows();
  void loadOperands();
  void emitBlock(unsigned block, ElementEmitter &emitter,
                 ArrayRef<ValueRange> products);

private:
  TmaEpilogue &epilogue;
  KernelBuilder &b;
  const EpilogueSubtiles &subtiles;
  int64_t number;
  SmallVector<Value> rows;
  SmallVector<SmallVector<Value>> ofOperands; ///< all elements of the thread
  SmallVector<SubtileFragments> results;
};

TmaEpilogue::Subtile::Subtile(TmaEpilogue &epilogue, const WorkItem &item,
                              int64_t number)
    : epilogue(epilogue), b(epilogue.b), subtiles(epilogue.copies.subtiles),
      number(number) {
  TiledFrame &frame = epilogue.frame;
  Value row = b.add(epilogue.copies.getRow(item, number),
                    b.add(b.shiftLeft(b.bitAnd(frame.warp, 3), 4),
                          b.shiftRight(frame.lane, 2)));
  for (unsigned i = 0; i != kRows; ++i) {
    Value clamped = b.add(row, 8 * i);
    if (frame.geometry.hasRaggedRows())
      clamped = b.min(clamped, b.sub(frame.m, 1));
    rows.push_back(b.toI64(clamped));
  }
  for (const SubtileTensor &result : subtiles.results)
    results.emplace_back(frame, result,
                         epilogue.copies.getBuffer(result, number));
}

/// Loads the operands that differ from row to row, once for all subtiles that
/// are side by side.
void TmaEpilogue::Subtile::loadRows() {
  if (epilogue.keepsValues && number % subtiles.perRow != 0)
    return;
  epilogue.ofRows.clear();
  ElementEmitter loader(b, epilogue.frame.operands, /*column=*/Value(),
                        /*lanes=*/1);
  loader.beginRows(rows, epilogue.perRow);
  for (BlockArgument operand : epilogue.perRow) {
    SmallVector<Value> &values = epilogue.ofRows.emplace_back();
    for (unsigned row = 0; row != kRows; ++row)
      values.push_back(loader.get(operand, row, /*lane=*/0));
  }
}

void TmaEpilogue::Subtile::loadOperands() {
  epilogue.copies.acquire(number);
  for (const SubtileTensor &operand : subtiles.operands)
    ofOperands.push_back(
        SubtileFragments(epilogue.frame, operand,
                         epilogue.copies.getBuffer(operand, number))
            .load());
}

/// Computes a block of the subtile, and writes its results.
void TmaEpilogue::Subtile::emitBlock(unsigned block, ElementEmitter &emitter,
                                     ArrayRef<ValueRange> products) {
  for (auto [operand, values] : llvm::zip(epilogue.perRow, epilogue.ofRows))
    for (unsigned row = 0; row != kRows; ++row)
      emitter.set(operand, row, /*lane=*/0, values[row]);
  auto setElements = [&](Value argument, ValueRange elements) {
    for (auto [index, element] : llvm::enumerate(elements))
      emitter.set(argument, index / kLanes, index % kLanes, element);
  };
  if (epilogue.finished) {
    for (Value tensor : epilogue.finished->getGiven())
      setElements(tensor, products.front());
    int64_t inTile = number % subtiles.perRow * subtiles.columns + 8 * block;
    epilogue.finished->setFragment(emitter, inTile);
  } else {
    for (auto [product, elements] :
         llvm::zip_equal(epilogue.op.getAccumulators(), products))
      setElements(product, elements);
  }
  for (auto [operand, elements] : llvm::zip(subtiles.operands, ofOperands))
    setElements(operand.value,
                ValueRange(elements).slice(block * kElements, kElements));
  for (SubtileFragments &result : results) {
    SmallVector<Value> elements;
    for (unsigned i = 0; i != kElements; ++i)
      elements.push_back(
          emitter.get(result.getUnbounded(), i / kLanes, i % kLanes));
    result.store(block, elements);
  }
}

void TmaEpilogue::emitSubtile(const WorkItem &item, int64_t number,
                              ValueRange accumulators) {
  // Else LLVM would keep the places of all subtiles from one to the next.
  frame.computePlace();
  int64_t blocks = copies.subtiles.columns / 8;
  size_t ofWeight = accumulators.size() / frame.geometry.weights;
  Subtile subtile(*this, item, number);
  subtile.loadRows();
  // Beside what this subtile computes: alone it would wait for each step.
  if (number != 0)
    readMoments(item, number - 1);
  subtile.loadOperands();
  for (int64_t i = 0; i != blocks; ++i) {
    int64_t block = number * blocks + i;
    prepareBlock(item, block + blocksAhead);
    SmallVector<ValueRange> products;
    for (int64_t weight = 0; weight != frame.geometry.weights; ++weight)
      products.push_back(
          accumulators.slice(weight * ofWeight + block * kElements, kElements));
    subtile.emitBlock(i, *emitters[block], products);
    emitters[block].reset();
  }
  copies.release(number, number + 1);
  // Other threads read what this one has written.
  if (!copies.subtiles.moments.empty())
    frame.warpgroupBarrier();
}

/// After the subtile's barrier, when all of it is in its buffers. These are
/// written again after the next one's, which every thread comes to when it has
/// read them.
void TmaEpilogue::readMoments(const WorkItem &item, int64_t number) {
  for (const ResultMoments &moments : copies.subtiles.moments) {
    const SubtileTensor &result = copies.subtiles.results[moments.result];
    SubtileMoments ofSubtile(frame, result, moments.sums);
    ofSubtile.read(copies.getBuffer(result, number),
                   copies.getRow(item, number));
    readAhead.emplace_back(moments, number, std::move(ofSubtile));
  }
  // Several together, as the lanes wait for each other, if there is room.
  bool endsRow = (number + 1) % copies.subtiles.perRow == 0;
  if (endsRow || !keepsValues)
    storeMoments(item);
}

void TmaEpilogue::storeMoments(const WorkItem &item) {
  for (auto &[moments, number, ofSubtile] : readAhead)
    ofSubtile.store(frame.outputs[moments.output], copies.getRow(item, number),
                    item.column,
                    number % copies.subtiles.perRow * copies.subtiles.columns);
  readAhead.clear();
}

void TmaEpilogue::prepareFirst(const WorkItem &item) {
  for (int64_t block = 0; block != blocksAhead; ++block)
    prepareBlock(item, block);
}

void TmaEpilogue::prepare(const WorkItem &item) {
  if (!hasRoom)
    return;
  prepareFirst(item);
  // Else ptxas loads only when the products are done, and waits anew.
  frame.syncWarp();
}

void TmaEpilogue::emit(const WorkItem &item, ValueRange accumulators) {
  if (!hasRoom)
    prepareFirst(item);
  for (int64_t i = 0; i != copies.subtiles.getCount(); ++i)
    emitSubtile(item, i, accumulators);
  readMoments(item, copies.subtiles.getCount() - 1);
  // The next tile's results may come to the same buffers.
  if (!copies.subtiles.moments.empty())
    frame.warpgroupBarrier();
  copies.endTile();
}
