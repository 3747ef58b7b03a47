//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opens a kernel: its signature, and where its thread stands.
//
//===----------------------------------------------------------------------===//

#include "KernelFrame.h"

#include "Codegen/CUDA/Emit/KernelFunction.h"
#include "CombineMoments.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

KernelFrame::KernelFrame(gpu::GPUModuleOp module, StringRef name, Location loc,
                         const KernelGeometry &geometry,
                         const EpiloguePhase &phase, unsigned numOutputs)
    : b(loc, module.getContext()), geometry(geometry), module(module) {
  unsigned numPointers = phase.operands.size() + numOutputs +
                         phase.finished.size() + (phase.reduction ? 1 : 0);
  function = createKernelFunction(b, module, name, /*numTensorMaps=*/0,
                                  numPointers, geometry.threads());
  // The grids of reductions are made for two blocks at once on a
  // multiprocessor; dropped where registers do not suffice
  // (CompileKernels.cpp). Of large blocks it has one, whose threads then have
  // registers for more loads.
  constexpr unsigned mostOfTwo = 512;
  if ((phase.reduction || !phase.finished.empty()) &&
      geometry.threads() <= mostOfTwo)
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      b.getI32IntegerAttr(2));
  ValueRange arguments = function.getArguments();
  auto take = [&](unsigned count) {
    ValueRange taken = arguments.take_front(count);
    arguments = arguments.drop_front(count);
    return taken;
  };
  for (auto [operand, argument] :
       llvm::zip(phase.operands, take(phase.operands.size())))
    pointers[operand] = argument;
  outputs = take(numOutputs);
  ValueRange buffers = take(phase.finished.size());
  if (phase.reduction)
    state = take(1)[0];
  m = arguments[0];
  groups = arguments[1];
  for (auto [reduction, buffer] : llvm::zip(phase.finished, buffers))
    finishedStates.push_back({buffer, getStateRows(reduction)});
  computePlace();
}

Value KernelFrame::getStateRows(ReductionEpilogueOp reduction) {
  if (!EpiloguePlan::getMoments(reduction))
    return Value();
  return combinesMoments(reduction)
             ? emitCombinedRows(b, reduction, m)
             : b.i64(EpiloguePlan::getMomentRows(reduction));
}

void KernelFrame::computePlace() {
  thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  Value across = b.i32(geometry.threadsX);
  threadX = arith::RemUIOp::create(b, thread, across);
  threadY = arith::DivUIOp::create(b, thread, across);
  Value columnBlocks = b.i32(geometry.columnBlocks());
  Value columnBlock = arith::RemUIOp::create(b, block, columnBlocks);
  group = b.toI64Signed(arith::DivUIOp::create(b, block, columnBlocks));
  blockColumn =
      b.mul(b.toI64Signed(columnBlock), b.i64(geometry.tileColumns()));
  Value own =
      b.add(blockColumn, b.toI64Signed(b.mul(threadX, b.i32(geometry.lanes))));
  Value last = b.i64(geometry.n - geometry.lanes);
  columnInRange =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sle, own, last);
  column = own;
  if (geometry.isRagged())
    column = arith::MinSIOp::create(b, own, last);
  Value rows = b.i64(geometry.tileRows());
  tiles = emitCeilDiv(b, m, rows);
}

void KernelFrame::barrier() { NVVM::Barrier0Op::create(b); }

Value KernelFrame::allocateShared(Type elementType, int64_t count) {
  LLVM::GlobalOp global = createSharedArray(
      b, function, "_shared" + Twine(numShared++), elementType, count);
  OpBuilder::InsertionGuard guard(b);
  // At the kernel's start, so that all of it sees the address.
  b.setInsertionPointToStart(&function.getBody().front());
  return LLVM::AddressOfOp::create(b, global);
}

void KernelFrame::emitIf(Value condition, llvm::function_ref<void()> body) {
  tenon::emitIf(b, condition, body);
}

SmallVector<Value> KernelFrame::getRows(Value tile, unsigned count) {
  Value first =
      b.add(b.mul(tile, b.i64(geometry.tileRows())), b.toI64Signed(threadY));
  SmallVector<Value> rows;
  for (unsigned row = 0; row != count; ++row)
    rows.push_back(b.add(first, b.i64(int64_t(row) * geometry.threadsY)));
  return rows;
}

SmallVector<Value> KernelFrame::clampRows(ArrayRef<Value> rows) {
  Value last = b.sub(m, b.i64(1));
  return llvm::map_to_vector(rows, [&](Value row) -> Value {
    return arith::MinSIOp::create(b, row, last);
  });
}
