//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f64 arithmetic, memory and tensor cores for kernels of moments.
//
//===----------------------------------------------------------------------===//

#include "MomentsFrame.h"

#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Emit/KernelFunction.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

MomentsFrame::MomentsFrame(gpu::GPUModuleOp module, StringRef name,
                           Location loc, const MomentsGeometry &geometry,
                           unsigned numPointers, int64_t threads)
    : b(loc, module.getContext()), g(geometry), threads(threads) {
  function = createKernelFunction(b, module, name, /*numTensorMaps=*/0,
                                  numPointers, threads);
  ValueRange arguments = function.getArguments();
  pointers = arguments.take_front(numPointers);
  m = arguments[numPointers];
  groups = arguments[numPointers + 1];
  thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  warp = b.shiftRight(thread, 5);
  lane = b.bitAnd(thread, 31);
  laneRow = b.shiftRight(lane, 2);
  laneColumn = b.bitAnd(lane, 3);
  findTarget(module);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static Value getAddress(KernelBuilder &b, Value array, Value index) {
  return LLVM::GEPOp::create(b, array.getType(), b.getF64Type(), array,
                             ArrayRef<LLVM::GEPArg>{index});
}

Value MomentsFrame::load(Value array, Value index) {
  return LLVM::LoadOp::create(b, b.getF64Type(), getAddress(b, array, index),
                              /*alignment=*/8);
}

std::pair<Value, Value> MomentsFrame::loadTwo(Value array, Value index) {
  Value two = LLVM::LoadOp::create(b, VectorType::get(2, b.getF64Type()),
                                   getAddress(b, array, index),
                                   /*alignment=*/16);
  return {vector::ExtractOp::create(b, two, 0),
          vector::ExtractOp::create(b, two, 1)};
}

void MomentsFrame::store(Value value, Value array, Value index) {
  LLVM::StoreOp::create(b, value, getAddress(b, array, index),
                        /*alignment=*/8);
}

Value MomentsFrame::loadInput(Value matrix, Value row, Value column) {
  Value offset = b.add(b.mul(row, g.k), b.toI64(column));
  Value value = loadLanes(b, matrix, offset, g.elementType, /*lanes=*/1)[0];
  return castFloat(b, value, b.getF64Type());
}

Value MomentsFrame::allocateShared(StringRef suffix, int64_t count) {
  LLVM::GlobalOp global =
      createSharedArray(b, function, suffix, b.getF64Type(), count);
  return LLVM::AddressOfOp::create(b, global);
}

/// Elements that lie beyond are those at the edge, and become zeros.
Value MomentsFrame::stageElement(Value element, Value matrix, Value first,
                                 Value numRows) {
  Value row = b.add(first, b.toI64(b.div(element, g.columns())));
  Value column = b.rem(element, g.columns());
  Value isInside = b.both(b.less(row, numRows), b.less(column, g.k));
  row = b.minSigned(row, b.sub(numRows, 1));
  column = b.min(column, b.i32(g.k - 1));
  Value value = loadInput(matrix, row, column);
  return b.select(isInside, value, real(0));
}

void MomentsFrame::stageRows(Value shared, Value matrix, Value first,
                             Value numRows) {
  int64_t count = g.rows() * g.columns();
  SmallVector<std::pair<Value, Value>> elements;
  // All loads come first, so that they are in flight together.
  for (int64_t start = 0; start < count; start += threads) {
    Value element = b.add(thread, start);
    Value clamped =
        start + threads <= count ? element : b.min(element, b.i32(count - 1));
    elements.emplace_back(clamped,
                          stageElement(clamped, matrix, first, numRows));
  }
  for (auto [element, value] : elements)
    store(value, shared,
          b.add(b.mul(b.div(element, g.columns()), g.pitch()),
                b.rem(element, g.columns())));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

std::pair<Value, Value> MomentsFrame::locateTile(Value tile) {
  Value row = b.i32(0), before = b.i32(0);
  for (int64_t next = 1; next != g.side(); ++next) {
    int64_t first = next * (next + 1) / 2;
    Value isBefore = b.less(tile, first);
    row = b.select(isBefore, row, b.i32(next));
    before = b.select(isBefore, before, b.i32(first));
  }
  return {row, b.sub(tile, before)};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// LLVM replaces the call by a constant when it compiles for a target.
void MomentsFrame::findTarget(gpu::GPUModuleOp module) {
  constexpr StringLiteral name = "tenon_name_of_target";
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    StringRef text("__CUDA_ARCH\0", 12);
    global = LLVM::GlobalOp::create(
        b, LLVM::LLVMArrayType::get(b.getI8Type(), text.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal, name,
        b.getStringAttr(text));
  }
  Value target = LLVM::CallIntrinsicOp::create(
                     b, b.getI32Type(), b.getStringAttr("llvm.nvvm.reflect"),
                     ValueRange(LLVM::AddressOfOp::create(b, global)))
                     .getResult(0);
  hasLarge = b.less(b.i32(899), target);
}

void MomentsFrame::multiplySmall(MutableArrayRef<Value> sums, Value a,
                                 Value x) {
  Type f64 = b.getF64Type();
  Value product = NVVM::MmaOp::create(
      b, LLVM::LLVMStructType::getLiteral(b.getContext(), {f64, f64}),
      ValueRange(a), ValueRange(x), ValueRange(ArrayRef<Value>(sums)),
      {8, 8, 4}, /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
      std::array{NVVM::MMATypes::f64, NVVM::MMATypes::f64},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(b, product, int64_t(i));
}

SmallVector<Value> MomentsFrame::multiplyLarge(ArrayRef<Value> sums,
                                               ArrayRef<Value> as,
                                               ArrayRef<Value> xs) {
  SmallVector<Type> types(4, b.getF64Type());
  SmallVector<Value> operands(as);
  llvm::append_range(operands, xs);
  llvm::append_range(operands, sums);
  Value product =
      LLVM::CallIntrinsicOp::create(
          b, LLVM::LLVMStructType::getLiteral(b.getContext(), types),
          b.getStringAttr("llvm.nvvm.mma.m16n8k8.row.col.f64"), operands)
          .getResult(0);
  SmallVector<Value> results;
  for (int64_t i = 0; i != 4; ++i)
    results.push_back(LLVM::ExtractValueOp::create(b, product, i));
  return results;
}

void MomentsFrame::multiply(MutableArrayRef<Value> upper,
                            MutableArrayRef<Value> lower, ArrayRef<Value> as,
                            ArrayRef<Value> xs) {
  SmallVector<Value> sums{upper[0], upper[1], lower[0], lower[1]};
  auto branch = scf::IfOp::create(
      b, hasLarge,
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(b, multiplyLarge(sums, as, xs));
      },
      [&](OpBuilder &, Location) {
        for (unsigned four = 0; four != kFours; ++four)
          for (unsigned half = 0; half != 2; ++half)
            multiplySmall(MutableArrayRef(sums).slice(2 * half, 2),
                          as[2 * four + half], xs[four]);
        scf::YieldOp::create(b, sums);
      });
  for (unsigned i = 0; i != 2; ++i) {
    upper[i] = branch.getResult(i);
    lower[i] = branch.getResult(2 + i);
  }
}
