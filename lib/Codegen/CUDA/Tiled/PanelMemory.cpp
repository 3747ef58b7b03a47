//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits places and words of global memory, through which blocks exchange
// states.
//
//===----------------------------------------------------------------------===//

#include "PanelMemory.h"

#include "RoundingRest.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Value PanelMemory::getOwnBlock() {
  return b.add(b.mul(frame.unit, frame.geometry.clusterBlocks()), frame.rank);
}

/// The number in the grid of the panel's block with a row tile. A panel has
/// `rowUnits` units one after the other, and a cluster's blocks lie along M or
/// along N. Of resident rows a panel has a team's units, and tiles along N.
Value PanelMemory::getBlock(Value rowTile) {
  const TileGeometry &geometry = frame.geometry;
  if (geometry.hasResidentRows()) {
    int64_t teamUnits = geometry.teamUnits();
    Value unit = b.mul(b.div(frame.unit, teamUnits),
                       teamUnits * geometry.clusterBlocks());
    return b.add(b.add(unit, b.rem(frame.rank, geometry.clusterM)),
                 b.mul(rowTile, geometry.clusterM));
  }
  Value rowUnits = frame.getRowUnits();
  Value unit = b.mul(b.mul(b.div(frame.unit, rowUnits), rowUnits),
                     geometry.clusterBlocks());
  Value first = b.add(
      unit, b.mul(b.div(frame.rank, geometry.clusterM), geometry.clusterM));
  return b.add(first, b.mul(rowTile, geometry.clusterN));
}

Value PanelMemory::getBlocks() {
  const TileGeometry &geometry = frame.geometry;
  if (geometry.hasResidentRows())
    return b.i32(geometry.teamUnits() * geometry.clusterN);
  return b.mul(frame.getRowUnits(), frame.geometry.clusterM);
}

Value PanelMemory::isFirstBlock() {
  const TileGeometry &geometry = frame.geometry;
  if (geometry.hasResidentRows())
    return b.both(b.equal(b.rem(frame.unit, geometry.teamUnits()), 0),
                  b.equal(b.div(frame.rank, geometry.clusterM), 0));
  return b.both(b.equal(b.rem(frame.unit, frame.getRowUnits()), 0),
                b.equal(b.rem(frame.rank, geometry.clusterM), 0));
}

int64_t PanelMemory::getExtent() {
  const TileGeometry &geometry = frame.geometry;
  return geometry.hasResidentRows() ? geometry.tileM : geometry.tileN;
}

Value PanelMemory::getFlag(Value block) {
  return b.offset(frame.workspace, b.mul(b.toI64(block), 8));
}

Value PanelMemory::getState(Value turn, Value block, Value inTile) {
  int64_t maxBlocks = getMaxBlocks(frame.geometry.schedule);
  Value last = b.bitAnd(turn, getExchangedTurns(frame.geometry.schedule) - 1);
  Value place = b.add(b.mul(last, maxBlocks), block);
  place = b.add(b.mul(place, getExtent()), inTile);
  return b.offset(b.offset(frame.workspace, 8 * maxBlocks),
                  b.mul(b.toI64(place), kTaggedStateBytes));
}

/// Behind the states there is as much again. The panel's first block stands for
/// it.
Value PanelMemory::getPublishedPlace(Value turn, Value inTile) {
  int64_t states =
      2 * getMaxBlocks(frame.geometry.schedule) * frame.geometry.tileN;
  return b.offset(getState(turn, getBlock(b.i32(0)), inTile),
                  states * kTaggedStateBytes);
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static Value getBits(KernelBuilder &b, Value number) {
  return arith::BitcastOp::create(b, b.getI32Type(), number);
}

Value PanelMemory::getLowHalf(Value word) {
  return arith::TruncIOp::create(b, b.getI32Type(), word);
}

Value PanelMemory::getHighHalf(Value word) {
  return getLowHalf(b.shiftRight(word, 32));
}

/// Of a state's first word and of its second: together most bits of the token.
PanelMemory::Tags PanelMemory::getTags(Value turn) {
  return {b.add(getLowHalf(frame.token), turn),
          b.shiftLeft(b.add(getHighHalf(frame.token), turn), kRestBits)};
}

Value PanelMemory::tagNumber(Value number, Value tag) {
  return b.bitOr(b.shiftLeft(b.toI64(tag), 32), b.toI64(getBits(b, number)));
}

/// They are not written at once, but each of them is.
void PanelMemory::store(Value place, ArrayRef<Value> words) {
  b.ptx("st.relaxed.gpu.global.v2.b64 [$0], {$1, $2};", "l,l,l,~{memory}",
        {place, words[0], words[1]});
}

void PanelMemory::publish(Value turn, Value inTile, ArrayRef<Value> numbers) {
  assert(numbers.size() <= kWords && "more than a table keeps of a column");
  Tags tags = getTags(turn);
  SmallVector<Value> words(numbers);
  words.resize(kWords, b.f32(0));
  words[0] = tagNumber(words[0], tags.first);
  words[1] = tagNumber(words[1], tags.second);
  store(getPublishedPlace(turn, inTile), words);
}

/// The words of a state, read anew if one of them has another tag.
SmallVector<Value> PanelMemory::loadMissing(Value place, const Tags &tags,
                                            ValueRange words) {
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), {b.getI64Type(), b.getI64Type()});
  Value loaded =
      b.ptxRead(type,
                "{ .reg .pred p; .reg .b32 number, tag; "
                "mov.b64 {number, tag}, $0; setp.ne.b32 p, tag, $3; "
                "mov.b64 {number, tag}, $1; xor.b32 tag, tag, $4; "
                "setp.gt.or.u32 p, tag, " +
                    std::to_string(kRestMask) +
                    ", p; "
                    "@p ld.relaxed.gpu.global.v2.b64 {$0, $1}, [$2]; }",
                "=l,=l,l,r,r,0,1,~{memory}",
                {place, tags.first, tags.second, words[0], words[1]});
  SmallVector<Value> result;
  for (int64_t i = 0; i != kWords; ++i)
    result.push_back(LLVM::ExtractValueOp::create(b, loaded, i));
  return result;
}

/// Waits for `count` states. All that are missing are on their way together.
SmallVector<Value>
PanelMemory::poll(const Tags &tags, int64_t count,
                  llvm::function_ref<Value(int64_t)> getPlace) {
  SmallVector<Value> initial{b.i32(0)};
  for (int64_t i = 0; i != count; ++i)
    for (Value tag : {tags.first, tags.second}) // others: nothing is read yet
      initial.push_back(b.shiftLeft(b.toI64(b.bitXor(tag, kRestMask + 1)), 32));
  OpBuilder::InsertionGuard guard(b);
  auto loop = scf::WhileOp::create(b, TypeRange(ValueRange(initial)), initial);
  SmallVector<Location> locations(initial.size(), b.getLoc());
  Block *before = b.createBlock(&loop.getBefore(), {},
                                TypeRange(ValueRange(initial)), locations);
  SmallVector<Value> next{before->getArgument(0)};
  Value different = b.i32(0);
  for (int64_t i = 0; i != count; ++i) {
    SmallVector<Value> words =
        loadMissing(getPlace(i), tags,
                    before->getArguments().slice(1 + i * kWords, kWords));
    different = b.bitOr(different, b.bitXor(getHighHalf(words[0]), tags.first));
    different = b.bitOr(
        different,
        b.bitAnd(b.bitXor(getHighHalf(words[1]), tags.second), ~kRestMask));
    next.append(words);
  }
  Value isMissing =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, different, b.i32(0));
  scf::ConditionOp::create(b, isMissing, next);
  Block *after = b.createBlock(&loop.getAfter(), {},
                               TypeRange(ValueRange(initial)), locations);
  SmallVector<Value> again(after->getArguments());
  again[0] = b.add(again[0], 1);
  b.ptx("{ .reg .pred p; setp.gt.u32 p, $0, " + std::to_string(kMaxTries) +
            "; @p trap; }",
        "r", again[0]);
  scf::YieldOp::create(b, again);
  return SmallVector<Value>(loop.getResults().drop_front());
}

SmallVector<Value> PanelMemory::getPublished(Value turn, Value inTile,
                                             size_t count) {
  Value place = getPublishedPlace(turn, inTile);
  SmallVector<Value> numbers;
  for (Value word :
       poll(getTags(turn), /*count=*/1, [&](int64_t) { return place; }))
    numbers.push_back(
        arith::BitcastOp::create(b, b.getF32Type(), getLowHalf(word)));
  numbers.resize(count);
  return numbers;
}
