//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opens a tiled kernel.
//
//===----------------------------------------------------------------------===//

#include "TiledFrame.h"

#include "Codegen/CUDA/Emit/KernelFunction.h"
#include "TiledFamily.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

static constexpr auto kShared =
    static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared);

TiledFrame::TiledFrame(gpu::GPUModuleOp module, StringRef name,
                       TiledLinearOp op, const TileGeometry &geometry,
                       unsigned numTensorMaps)
    : b(op.getLoc(), module.getContext()), geometry(geometry) {
  unsigned numPointers = op->getNumOperands();
  function = createKernelFunction(b, module, name, numTensorMaps, numPointers,
                                  geometry.blockThreads());
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    b.getI32IntegerAttr(geometry.schedule.getBlocks()));
  shared = getSharedMemory(module);
  takeArguments(op, numTensorMaps);
  computePlace();
}

/// The block's dynamic shared memory: an external array without a size, aligned
/// for TMA's swizzle; PTX knows no other way to name it.
Value TiledFrame::getSharedMemory(gpu::GPUModuleOp module) {
  constexpr llvm::StringLiteral name = "tenon_dynamic_shared";
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    global = LLVM::GlobalOp::create(
        b, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
        LLVM::Linkage::External, name, /*value=*/Attribute(),
        /*alignment=*/1024, kShared);
  }
  return LLVM::AddressOfOp::create(b, global);
}

void TiledFrame::takeArguments(TiledLinearOp op, unsigned numTensorMaps) {
  ValueRange arguments = function.getArguments();
  auto take = [&](unsigned count) {
    ValueRange taken = arguments.take_front(count);
    arguments = arguments.drop_front(count);
    return taken;
  };
  tensorMaps = take(numTensorMaps);
  x = take(1)[0];
  weights = take(op.getNumWeights());
  take(op.getFurtherTerms().size()); // TMA alone reads them
  factors = take(op.getFactors().size());
  for (auto [argument, pointer] :
       llvm::zip(op.getInputArguments(), take(op.getInputs().size())))
    operands[argument] = pointer;
  // Unscale.h adds arguments for them.
  for (auto [argument, pointer] :
       llvm::zip(op.getBody()->getArguments().drop_front(op.getNumWeights() +
                                                         op.getInputs().size()),
                 factors))
    operands[argument] = pointer;
  outputs = take(op.getOutputs().size());
  if (op.getWorkspace())
    workspace = take(1)[0];
  m = arith::TruncIOp::create(b, b.getI32Type(), take(1)[0]);
  token = take(1)[0];
}

/// Exchanges bits 1 and 2. Lanes that differ in bit 0 then have one row of x,
/// and those that differ in bit 1 one column of w. Where all lanes of either
/// pairing load from one address, a load of 16 bytes takes shared memory two
/// cycles rather than four.
Value TiledFrame::swapLaneBits(Value number) {
  Value up = b.shiftLeft(b.bitAnd(number, 2), 1);
  Value down = b.bitAnd(b.shiftRight(number, 1), 2);
  return b.bitOr(b.bitAnd(number, 0b11001), b.bitOr(up, down));
}

Value TiledFrame::shuffleXor(Value value, int64_t mask) {
  bool isSwapped = geometry.isFma() && (mask == 2 || mask == 4);
  return b.shuffleXor(value, isSwapped ? mask ^ 6 : mask);
}

void TiledFrame::computePlace() {
  // To LLVM each reading may differ, so it cannot reuse an earlier one's.
  thread = b.ptxRead(b.getI32Type(), "mov.u32 $0, %tid.x;", "=r", {});
  // With defer a warp that finishes panels would spill what is computed of it.
  unit = geometry.schedule.getDefer()
             ? b.ptxRead(b.getI32Type(), "mov.u32 $0, %ctaid.x;", "=r", {})
             : Value(NVVM::BlockIdXOp::create(b, b.getI32Type()));
  units = b.ptxRead(b.getI32Type(), "mov.u32 $0, %nctaid.x;", "=r", {});
  rank = b.rem(unit, geometry.clusterBlocks());
  unit = b.div(unit, geometry.clusterBlocks());
  units = b.div(units, geometry.clusterBlocks());
  if (geometry.columnUnitsBefore) { // each has one tile
    Value rows = getRowUnits();
    unit = b.sub(unit, b.mul(rows, *geometry.columnUnitsBefore));
    units = b.mul(rows, geometry.columnUnits());
  }
  lane = b.bitAnd(thread, 31);
  if (geometry.isFma())
    lane = swapLaneBits(lane);
  // Through a shuffle, so that ptxas knows it to be the same in a warp.
  warp = b.shuffleFrom(b.shiftRight(thread, 5), b.i32(0));
  scalars = b.offset(b.offset(shared, geometry.scalarsOffset()),
                     b.mul(warp, kScalarBytesPerWarp));
  geometry.family->computePlace(*this);
}

// In shared memory volatile, so that no register carries it from a store to a
// load.
void KeptScalar::store(Value value) {
  KernelBuilder &b = frame->b;
  if (isInRegister())
    LLVM::StoreOp::create(b, value, variable);
  else
    LLVM::StoreOp::create(b, value, b.offset(frame->scalars, 4 * index),
                          /*alignment=*/4, /*isVolatile=*/true);
}

Value KeptScalar::load() {
  KernelBuilder &b = frame->b;
  if (isInRegister())
    return LLVM::LoadOp::create(b, b.getI32Type(), variable);
  return LLVM::LoadOp::create(b, b.getI32Type(),
                              b.offset(frame->scalars, 4 * index),
                              /*alignment=*/4, /*isVolatile=*/true);
}

KeptScalar TiledFrame::keep() {
  assert(4 * numScalars < kScalarBytesPerWarp && "no room for another scalar");
  return KeptScalar(*this, numScalars++);
}

KeptScalar TiledFrame::keepForTurns() {
  bool isTight = geometry.schedule.getStreamK() ||
                 (geometry.schedule.getDefer() && geometry.wgmmaBlocks() > 1);
  if (geometry.family->traits.keepsTurns || isTight)
    return keep();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.getBody().front());
  auto type = LLVM::LLVMPointerType::get(b.getContext());
  return KeptScalar(*this,
                    LLVM::AllocaOp::create(b, type, b.getI32Type(), b.i32(1)));
}

void TiledFrame::store(ArrayRef<std::pair<KeptScalar, Value>> values) {
  SmallVector<std::pair<KeptScalar, Value>> inMemory;
  for (auto [scalar, value] : values)
    if (scalar.isInRegister())
      scalar.store(value);
    else
      inMemory.emplace_back(scalar, value);
  if (inMemory.empty())
    return;
  syncWarp(); // all lanes have read what is stored now
  emitIf(b.equal(lane, 0), [&] {
    for (auto [scalar, value] : inMemory)
      scalar.store(value);
  });
  syncWarp();
}

void TiledFrame::barrier() { geometry.family->emitBarrier(*this); }

void TiledFrame::warpgroupBarrier() {
  b.ptx("bar.sync $0, " + std::to_string(kWarpgroupThreads) + ";",
        "r,~{memory}", b.add(warpgroup, kWarpgroupBarrier - 1));
}

void TiledFrame::syncWarp() { NVVM::SyncWarpOp::create(b, b.i32(-1)); }

void TiledFrame::emitIf(Value condition, llvm::function_ref<void()> body) {
  tenon::emitIf(b, condition, body);
}

Value TiledFrame::getRowUnits() {
  return ShapedType::isDynamic(geometry.m) ? b.ceilDiv(m, geometry.unitM())
                                           : b.i32(geometry.rowUnits());
}
