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

#include "../KernelFunction.h"

#include "tenon/Target/Schedule.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

static constexpr auto kShared =
    static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared);

TiledFrame::TiledFrame(gpu::GPUModuleOp module, StringRef name,
                       TiledLinearOp op, const TileGeometry &geometry)
    : b(op.getLoc(), module.getContext()), geometry(geometry) {
  unsigned numPointers = 2 + op.getInputs().size() + op.getOutputs().size() +
                         (op.getWorkspace() ? 1 : 0);
  function =
      createKernelFunction(b, module, name, numPointers, geometry.threads());
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    b.getI32IntegerAttr(geometry.schedule.getBlocks()));
  shared = getSharedMemory(module);
  takeArguments(op);
  computePlace();
}

/// The block's dynamic shared memory: an external array without a size, aligned
/// for the widest access; PTX knows no other way to name it.
Value TiledFrame::getSharedMemory(gpu::GPUModuleOp module) {
  constexpr llvm::StringLiteral name = "tenon_dynamic_shared";
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    global = LLVM::GlobalOp::create(
        b, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
        LLVM::Linkage::External, name, /*value=*/Attribute(),
        /*alignment=*/128, kShared);
  }
  return LLVM::AddressOfOp::create(b, global);
}

void TiledFrame::takeArguments(TiledLinearOp op) {
  ValueRange arguments = function.getArguments();
  auto take = [&](unsigned count) {
    ValueRange taken = arguments.take_front(count);
    arguments = arguments.drop_front(count);
    return taken;
  };
  x = take(1)[0];
  w = take(1)[0];
  for (auto [argument, pointer] :
       llvm::zip(op.getBody()->getArguments().drop_front(),
                 take(op.getInputs().size())))
    operands[argument] = pointer;
  outputs = take(op.getOutputs().size());
  if (op.getWorkspace())
    workspace = take(1)[0];
  m = arith::TruncIOp::create(b, b.getI32Type(), take(1)[0]);
  token = take(1)[0];
}

void TiledFrame::computePlace() {
  // To LLVM each reading may differ, so it cannot reuse an earlier one's.
  thread = b.ptxRead(b.getI32Type(), "mov.u32 $0, %tid.x;", "=r", {});
  block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  grid = NVVM::GridDimXOp::create(b, b.getI32Type());
  lane = b.bitAnd(thread, 31);
  // Through a shuffle, so that ptxas knows it to be the same in a warp.
  warp = NVVM::ShflOp::create(b, b.getI32Type(), b.i32(-1),
                              b.shiftRight(thread, 5), b.i32(0), b.i32(31),
                              NVVM::ShflKind::idx, UnitAttr());
  warpRow = b.mul(b.rem(warp, geometry.warpsM), geometry.warpM());
  warpColumn = b.mul(b.div(warp, geometry.warpsM), geometry.warpN());
  int64_t offset = geometry.stagingOffset() +
                   geometry.schedule.getNumWarps() * kStagingBytesPerWarp;
  scalars =
      b.offset(b.offset(shared, offset), b.mul(warp, kScalarBytesPerWarp));
}

void KeptScalar::store(Value value) {
  KernelBuilder &b = frame->b;
  LLVM::StoreOp::create(b, value, b.offset(frame->scalars, 4 * index),
                        /*alignment=*/4, /*isVolatile=*/true);
}

Value KeptScalar::load() {
  KernelBuilder &b = frame->b;
  return LLVM::LoadOp::create(b, b.getI32Type(),
                              b.offset(frame->scalars, 4 * index),
                              /*alignment=*/4, /*isVolatile=*/true);
}

KeptScalar TiledFrame::keep() {
  assert(4 * numScalars < kScalarBytesPerWarp && "no room for another scalar");
  return KeptScalar(*this, numScalars++);
}

void TiledFrame::barrier() { NVVM::Barrier0Op::create(b); }

void TiledFrame::syncWarp() { NVVM::SyncWarpOp::create(b, b.i32(-1)); }

void TiledFrame::emitIf(Value condition, llvm::function_ref<void()> body) {
  tenon::emitIf(b, condition, body);
}
