//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits flags, counters and the waits for them.
//
//===----------------------------------------------------------------------===//

#include "Progress.h"

#include "../KernelFunction.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tenon;

/// Flags that a lane reads together.
static constexpr int64_t kFlagsPerLane = 8;

/// How often a warp looks in vain, once in about a microsecond, before it stops
/// the kernel: whatever it waits for has been started, so it has met a mistake.
static constexpr int64_t kMaxTries = 0x2000000;

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

Value ProgressLayout::emitFlagsPerPanel(ImplicitLocOpBuilder &b,
                                        Value m) const {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(m.getType(), value));
  };
  auto emitCeilDiv = [&](Value value, int64_t divisor) -> Value {
    value = b.createOrFold<arith::AddIOp>(value, constant(divisor - 1));
    return b.createOrFold<arith::DivUIOp>(value, constant(divisor));
  };
  Value blocks = b.createOrFold<arith::MulIOp>(emitCeilDiv(m, unitRows),
                                               constant(unitRows / kFlagRows));
  return b.createOrFold<arith::MulIOp>(emitCeilDiv(blocks, kFlagsPerLane),
                                       constant(kFlagsPerLane));
}

Value ProgressLayout::emitBytes(ImplicitLocOpBuilder &b, Value m) const {
  auto i64 = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  };
  Value flags = b.createOrFold<arith::MulIOp>(emitFlagsPerPanel(b, m),
                                              i64(4 * numPanels()));
  return b.createOrFold<arith::AddIOp>(flags, i64(4 * firstFlag()));
}

Value Progress::getWord(Value number) {
  return b.offset(workspace, b.toI64(b.shiftLeft(number, 2)));
}

Value Progress::getFlag(Value panel, Value block) {
  Value flag = b.add(b.mul(panel, layout.emitFlagsPerPanel(b, m)), block);
  return getWord(b.add(flag, layout.firstFlag()));
}

//===----------------------------------------------------------------------===//
// The product's kernel
//===----------------------------------------------------------------------===//

void Progress::clearCounters(Value thread, int64_t threads) {
  auto loop =
      scf::ForOp::create(b, thread, b.i32(layout.firstFlag()), b.i32(threads));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  b.ptx("st.relaxed.gpu.global.b32 [$0], $1;", "l,r,~{memory}",
        {getWord(loop.getInductionVar()), b.i32(0)});
}

Value Progress::getFlagNumber(Value row, Value column) {
  Value panel = b.div(column, layout.panelColumns);
  Value block = b.div(row, ProgressLayout::kFlagRows);
  return b.add(b.mul(panel, layout.emitFlagsPerPanel(b, m)), block);
}

void Progress::storeFlags(Value number, int64_t count, int64_t value) {
  Value first = getWord(b.add(number, layout.firstFlag()));
  for (int64_t i = 0; i != count; ++i)
    b.ptx("st.relaxed.gpu.global.b32 [$0], $1;", "l,r,~{memory}",
          {b.offset(first, 4 * i), b.i32(value)});
}

void Progress::clearFlags(Value number, int64_t count) {
  storeFlags(number, count, 0);
}

void Progress::setFlags(Value number, int64_t count) {
  b.ptx("fence.acq_rel.gpu;", "~{memory}", {});
  storeFlags(number, count, 1);
}

//===----------------------------------------------------------------------===//
// The finishing kernel
//===----------------------------------------------------------------------===//

/// Asks until the answer, an i1, is no.
void Progress::poll(llvm::function_ref<Value()> isMissing) {
  OpBuilder::InsertionGuard guard(b);
  Type type = b.getI32Type();
  auto loop = scf::WhileOp::create(b, type, b.i32(0));
  Block *before = b.createBlock(&loop.getBefore(), {}, type, b.getLoc());
  Value missing = isMissing();
  scf::ConditionOp::create(b, missing, before->getArguments());
  Block *after = b.createBlock(&loop.getAfter(), {}, type, b.getLoc());
  Value tries = b.add(after->getArgument(0), 1);
  b.ptx("{ .reg .pred p; setp.gt.u32 p, $0, " + std::to_string(kMaxTries) +
            "; @p trap; nanosleep.u32 100; }",
        "r,~{memory}", tries);
  scf::YieldOp::create(b, tries);
}

Value Progress::takeTicket(Value lane) {
  Value ticket =
      b.ptxRead(b.getI32Type(),
                "{ .reg .pred p; setp.eq.b32 p, $2, 0; mov.b32 $0, 0; "
                "@p atom.relaxed.gpu.global.add.u32 $0, [$1], 1; }",
                "=&r,l,r,~{memory}", {workspace, lane});
  return NVVM::ShflOp::create(b, b.getI32Type(), b.i32(-1), ticket, b.i32(0),
                              b.i32(31), NVVM::ShflKind::idx, UnitAttr());
}

/// Whether one of `kFlagsPerLane` flags from number `first` on is not set: an
/// i32, 0 if all are. Those from `end` on are of rows beyond M.
Value Progress::findMissing(Value panel, Value first, Value end) {
  constexpr int64_t each = 4;
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(each, b.getI32Type()));
  Value place = getFlag(panel, first);
  SmallVector<Value> loaded; // all on their way together
  for (int64_t i = 0; i != kFlagsPerLane; i += each)
    loaded.push_back(
        b.ptxRead(type, "ld.relaxed.gpu.global.v4.b32 {$0, $1, $2, $3}, [$4];",
                  "=r,=r,=r,=r,l,~{memory}", b.offset(place, 4 * i)));
  Value missing = b.i32(0);
  for (int64_t i = 0; i != kFlagsPerLane; ++i) {
    Value flag = LLVM::ExtractValueOp::create(b, loaded[i / each], i % each);
    Value exists = b.less(b.add(first, i), end);
    missing = b.bitOr(missing, b.select(exists, b.bitXor(flag, 1), b.i32(0)));
  }
  return missing;
}

void Progress::waitForPanel(Value panel, Value lane) {
  Value end = b.ceilDiv(m, ProgressLayout::kFlagRows);
  poll([&]() -> Value {
    auto loop =
        scf::ForOp::create(b, b.mul(lane, kFlagsPerLane), end,
                           b.i32(32 * kFlagsPerLane), ValueRange{b.i32(0)});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value missing = findMissing(panel, loop.getInductionVar(), end);
      missing = b.bitOr(loop.getRegionIterArgs()[0], missing);
      scf::YieldOp::create(b, missing);
    }
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, loop.getResult(0),
                                 b.i32(0));
  });
  // Each lane has seen other flags; together they have seen all.
  b.ptx("fence.acq_rel.gpu;", "~{memory}", {});
  NVVM::SyncWarpOp::create(b, b.i32(-1));
}

void Progress::addToCounter(Value span, Value lane) {
  NVVM::SyncWarpOp::create(b, b.i32(-1));
  emitIf(b, b.equal(lane, 0), [&] {
    b.ptx("red.release.gpu.global.add.u32 [$0], $1;", "l,r,~{memory}",
          {getWord(b.add(span, 32)), b.i32(1)});
  });
}

void Progress::waitForCounter(Value span, Value count) {
  Value place = getWord(b.add(span, 32));
  poll([&]() -> Value {
    // No fence, which would wait for the warp's own stores as well.
    Value seen =
        b.ptxRead(b.getI32Type(), "ld.acquire.gpu.global.b32 $0, [$1];",
                  "=r,l,~{memory}", place);
    return b.less(seen, count);
  });
}
