//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel of tenon.split. A row's elements are loaded, all at once, and stay
// in registers until its largest magnitude is known; then they are split and
// stored.
//
//===----------------------------------------------------------------------===//

#include "SplitKernel.h"

#include "SplitFactor.h"
#include "SplitRowReduction.h"

#include "Codegen/CUDA/Emit/KernelFunction.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
class SplitKernel {
public:
  SplitKernel(gpu::GPUModuleOp module, StringRef name, Location loc,
              const SplitGeometry &geometry);

  LLVM::LLVMFuncOp emit();

private:
  /// Some of a thread's vectors of a row, a stride apart.
  struct Vectors {
    Value x, halves; ///< where the first one lies, and its hi goes
    int64_t column;  ///< the first one's, if it were that of thread 0; of a
                     ///< step, whose vectors all end before K, 0
    unsigned count;
  };

  void emitRow(Value row);
  Vectors getStep(Value step);
  Vectors getRest();
  Value forEachStep(bool backwards, Value initial,
                    llvm::function_ref<Value(Vectors, Value)> body);
  SmallVector<Value> load(const Vectors &vectors);
  Value loadVector(const Vectors &vectors, unsigned index);
  Value emitMax(ArrayRef<Value> xs, Value largest);
  Value emitSplit(const Vectors &vectors, ArrayRef<Value> xs, Value score);
  void store(const Vectors &vectors, unsigned index,
             const SplitElement &element);

  /// `scalar`, or a vector of a thread's lanes.
  Type getLanes(Type scalar) {
    return g.lanes == 1 ? scalar : VectorType::get(g.lanes, scalar);
  }
  Value zeros(Type scalar) {
    return arith::ConstantOp::create(b, b.getZeroAttr(getLanes(scalar)));
  }

  KernelBuilder b;
  const SplitGeometry &g;
  LLVM::LLVMFuncOp function;
  LLVM::GlobalOp counter;
  Value x, halves, factors; ///< the kernel's arguments
  Value thread;             ///< of the row
  Value column;             ///< the thread's first
  Value rowX;               ///< the row's first element
  Value threadX, threadHalves;
  SplitScale scale; ///< the row's
  std::optional<SplitRowReduction> reduction;
};
} // namespace

SplitKernel::SplitKernel(gpu::GPUModuleOp module, StringRef name, Location loc,
                         const SplitGeometry &geometry)
    : b(loc, module.getContext()), g(geometry) {
  function = createKernelFunction(b, module, name, /*numTensorMaps=*/0,
                                  /*numPointers=*/3, g.threads());
  counter = getRowsOutsideCounter(b, module);
}

LLVM::LLVMFuncOp SplitKernel::emit() {
  ValueRange arguments = function.getArguments();
  x = arguments[0], halves = arguments[1], factors = arguments[2];
  Value m = arguments[3], groups = arguments[4];
  thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value first = b.toI64(NVVM::BlockIdXOp::create(b, b.getI32Type()));
  if (g.warps == 1) {
    Value warp = b.shiftRight(thread, 5);
    first = b.add(b.mul(first, g.rows()), b.toI64(warp));
    thread = b.bitAnd(thread, 31);
  }
  column = b.mul(thread, g.lanes);
  reduction.emplace(b, function, thread, g.warps);
  // All threads of a row, and all that meet at a barrier, take the same turns.
  scf::ForOp::create(b, first, m, b.mul(groups, g.rows()), ValueRange(),
                     [&](OpBuilder &, Location, Value row, ValueRange) {
                       OpBuilder::InsertionGuard guard(b);
                       b.setInsertionPointToEnd(row.getParentBlock());
                       emitRow(row);
                       scf::YieldOp::create(b);
                     });
  LLVM::ReturnOp::create(b, ValueRange());
  return function;
}

void SplitKernel::emitRow(Value row) {
  rowX = b.offset(x, b.mul(row, 4 * g.k));
  threadX = b.offset(rowX, b.toI64(b.mul(column, 4)));
  // With two parts, 32 columns and more become twice as many.
  Value half = column;
  if (g.parts == 2)
    half = b.add(half, b.bitAnd(half, -SplitOp::kPartColumns));
  threadHalves = b.offset(halves, b.mul(row, 2 * g.parts * g.columns()));
  threadHalves = b.offset(threadHalves, b.toI64(b.mul(half, 2)));

  Value largest = forEachStep(
      /*backwards=*/false, zeros(b.getI32Type()),
      [&](Vectors step, Value before) { return emitMax(load(step), before); });
  Vectors rest = getRest();
  SmallVector<Value> kept = load(rest);
  largest = reduction->emitMax(emitMax(kept, largest));
  scale = emitSplitScale(b, b.getLoc(), largest);
  Value score = emitSplit(rest, kept, zeros(b.getI32Type()));
  // What was read last is the likeliest to be in L2 still.
  score =
      forEachStep(/*backwards=*/true, score, [&](Vectors step, Value before) {
        return emitSplit(step, load(step), before);
      });
  score = reduction->emitSum(score);
  emitIf(b, b.equal(thread, 0), [&] {
    emitSplitFactor(b, counter, factors, row, scale, largest, score, g.parts);
  });
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

SplitKernel::Vectors SplitKernel::getStep(Value step) {
  Value columns = b.mul(b.toI64(step), g.stepColumns());
  return {b.offset(threadX, b.mul(columns, 4)),
          b.offset(threadHalves, b.mul(columns, 2 * g.parts)), /*column=*/0,
          g.maxVectors()};
}

SplitKernel::Vectors SplitKernel::getRest() {
  int64_t column = g.steps() * g.stepColumns();
  return {b.offset(threadX, 4 * column),
          b.offset(threadHalves, 2 * g.parts * column), column,
          g.restVectors()};
}

/// Carries a value through all steps.
Value SplitKernel::forEachStep(bool backwards, Value initial,
                               llvm::function_ref<Value(Vectors, Value)> body) {
  if (g.steps() == 0)
    return initial;
  auto loop = scf::ForOp::create(
      b, b.i32(0), b.i32(g.steps()), b.i32(1), initial,
      [&](OpBuilder &, Location, Value step, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(step.getParentBlock());
        if (backwards)
          step = b.sub(b.i32(g.steps() - 1), step);
        scf::YieldOp::create(b, body(getStep(step), carried[0]));
      });
  return loop.getResult(0);
}

SmallVector<Value> SplitKernel::load(const Vectors &vectors) {
  SmallVector<Value> xs;
  for (unsigned index = 0; index != vectors.count; ++index)
    xs.push_back(loadVector(vectors, index));
  return xs;
}

/// Beyond K, zeros.
Value SplitKernel::loadVector(const Vectors &vectors, unsigned index) {
  int64_t offset = index * g.stride();
  auto emitLoad = [&](Value address) -> Value {
    return LLVM::LoadOp::create(b, getLanes(b.getF32Type()), address,
                                /*alignment=*/4 * g.lanes);
  };
  if (vectors.column + offset + g.stride() <= g.k)
    return emitLoad(b.offset(vectors.x, 4 * offset));
  Value own = b.add(column, vectors.column + offset);
  Value clamped = b.min(own, b.i32(g.k - g.lanes));
  Value loaded = emitLoad(b.offset(rowX, b.toI64(b.mul(clamped, 4))));
  return b.select(b.less(own, g.k), loaded, zeros(b.getF32Type()));
}

Value SplitKernel::emitMax(ArrayRef<Value> xs, Value largest) {
  for (Value x : xs)
    largest = b.maxSigned(largest, emitMagnitudeBits(b, b.getLoc(), x));
  return largest;
}

/// Stores the parts; adds to the score.
Value SplitKernel::emitSplit(const Vectors &vectors, ArrayRef<Value> xs,
                             Value score) {
  Value factor = scale.scale;
  if (g.lanes != 1)
    factor = vector::BroadcastOp::create(b, getLanes(b.getF32Type()), factor);
  for (auto [index, x] : llvm::enumerate(xs)) {
    SplitElement element =
        emitSplitElement(b, b.getLoc(), x, factor, g.parts, g.k);
    store(vectors, index, element);
    score = b.add(score, element.score);
  }
  return score;
}

void SplitKernel::store(const Vectors &vectors, unsigned index,
                        const SplitElement &element) {
  int64_t offset = index * g.stride();
  Value address = b.offset(vectors.halves, 2 * g.parts * offset);
  auto emitStores = [&] {
    LLVM::StoreOp::create(b, element.hi, address, /*alignment=*/2 * g.lanes);
    if (element.lo)
      LLVM::StoreOp::create(b, element.lo,
                            b.offset(address, 2 * SplitOp::kPartColumns),
                            /*alignment=*/2 * g.lanes);
  };
  if (vectors.column + offset + g.stride() <= g.columns())
    return emitStores();
  Value own = b.add(column, vectors.column + offset);
  emitIf(b, b.less(own, g.columns()), emitStores);
}

LLVM::LLVMFuncOp tenon::emitSplitKernel(gpu::GPUModuleOp module, StringRef name,
                                        Location loc,
                                        const SplitGeometry &geometry) {
  return SplitKernel(module, name, loc, geometry).emit();
}
