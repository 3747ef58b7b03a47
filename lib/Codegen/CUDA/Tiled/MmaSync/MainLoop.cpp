//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the main loop of an sm_80 kernel.
//
//===----------------------------------------------------------------------===//

#include "MainLoop.h"

#include "Codegen/CUDA/Tiled/BlockScales.h"

using namespace mlir;
using namespace mlir::tenon;

/// What an iteration hands to the next, all of it in registers.
struct MainLoop::Carried {
  SmallVector<Value> accumulators, fragments; ///< fragments: of k-step 0
  Value readStage, writeStage;                ///< byte offsets in shared memory
  SmallVector<Value> sources;                 ///< of copies, one K tile behind

  SmallVector<Value> pack() const {
    SmallVector<Value> values(accumulators);
    llvm::append_range(values, fragments);
    values.append({readStage, writeStage});
    llvm::append_range(values, sources);
    return values;
  }
  /// The same with other values.
  Carried unpack(ValueRange values) const {
    Carried other;
    auto take = [&](unsigned count) {
      ValueRange taken = values.take_front(count);
      values = values.drop_front(count);
      return llvm::to_vector(taken);
    };
    other.accumulators = take(accumulators.size());
    other.fragments = take(fragments.size());
    other.readStage = take(1)[0];
    other.writeStage = take(1)[0];
    other.sources = take(sources.size());
    return other;
  }
};

/// What the k-steps of an iteration share.
struct MainLoop::Step {
  Value read, nextRead;     ///< stages multiplied now and next
  Value target;             ///< of copies
  Value isReal, validBytes; ///< whether there is a stage to copy
  unsigned copied = 0;
};

MainLoop::MainLoop(TiledFrame &frame)
    : frame(frame), b(frame.b), copies(frame), product(frame) {}

/// The fragments of stage 0's first k-step.
SmallVector<Value> MainLoop::loadFirst() {
  SmallVector<SmallVector<Value>> loaded;
  for (unsigned i = 0; i != product.numLoads(); ++i)
    loaded.push_back(product.load(frame.shared, 0, i));
  return product.order(loaded);
}

MainLoop::Carried MainLoop::begin(const WorkItem &item) {
  const TileGeometry &geometry = frame.geometry;
  Carried carried;
  carried.accumulators.assign(product.numAccumulators(), b.f32(0));
  carried.fragments = loadFirst();
  carried.readStage = b.i32(0);
  carried.writeStage = b.i32((geometry.stages - 1) * geometry.stageBytes());
  carried.sources =
      copies.getMovingSources(item, b.add(item.kBegin, geometry.stages - 2));
  return carried;
}

SmallVector<Value> MainLoop::run(const WorkItem &item) {
  copies.wait(frame.geometry.stages - 2);
  frame.barrier();
  Carried first = begin(item);
  std::optional<BlockScales> scales;
  if (frame.geometry.hasBlockScales)
    scales.emplace(frame, item);
  auto loop =
      scf::ForOp::create(b, b.i32(0), item.kCount, b.i32(1), first.pack());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Carried last =
        advance(item, scales ? &*scales : nullptr, loop.getInductionVar(),
                first.unpack(loop.getRegionIterArgs()));
    scf::YieldOp::create(b, last.pack());
  }
  return product.orderByWeight(first.unpack(loop.getResults()).accumulators);
}

MainLoop::Carried MainLoop::advance(const WorkItem &item, BlockScales *scales,
                                    Value kTile, Carried carried) {
  const TileGeometry &geometry = frame.geometry;
  Value copied = b.add(kTile, geometry.stages - 1);
  Value nextRead = copies.getNextStage(carried.readStage);
  Value nextWrite = copies.getNextStage(carried.writeStage);
  // After the last stage there is none to load from. What is loaded then is not
  // used, but must not lie where the next turn's first copies go.
  Value isLast = b.equal(b.add(kTile, 1), item.kCount);
  Value loadedStage = b.select(
      isLast, b.i32((geometry.stages - 1) * geometry.stageBytes()), nextRead);
  Step context;
  context.isReal = b.toI32(b.less(copied, item.kCount));
  context.validBytes = copies.getValidBytes(b.add(item.kBegin, copied));
  context.read = b.offset(frame.shared, carried.readStage);
  context.nextRead = b.offset(frame.shared, loadedStage);
  context.target = copies.getTarget(carried.writeStage);
  SmallVector<Value> sums, loaded;
  if (scales)
    loaded = scales->load(b.add(item.kBegin, kTile));
  // Methods with parts add up as they multiply (WarpProduct.h).
  bool promotes = scales || geometry.schedule.getMethod() == ProductMethod::FP8;
  if (promotes) {
    sums.assign(carried.accumulators.size(), b.f32(0));
    std::swap(sums, carried.accumulators);
  }
  for (unsigned step = 0; step != product.numSteps(); ++step)
    emitStep(step, carried, context);
  if (scales)
    carried.accumulators = scales->add(sums, carried.accumulators, loaded);
  else if (promotes)
    for (auto [sum, partial] : llvm::zip(sums, carried.accumulators))
      partial = arith::AddFOp::create(b, sum, partial);
  carried.readStage = nextRead;
  carried.writeStage = nextWrite;
  return carried;
}

/// The next stage's copies up to what is due at `time` of `total`.
void MainLoop::copyUntil(unsigned time, unsigned total, Carried &carried,
                         Step &context) {
  unsigned count = copies.getCount();
  while (context.copied != count && context.copied * total <= time * count) {
    copies.copyNext(context.copied, context.target,
                    carried.sources[context.copied], context.isReal,
                    context.validBytes);
    ++context.copied;
  }
}

/// One k-step's products; beside them the next one's loads and a share of the
/// next stage's copies, which are spread over all k-steps but the last.
void MainLoop::emitStep(unsigned step, Carried &carried, Step &context) {
  unsigned steps = product.numSteps(), products = product.numProducts();
  bool isLastStep = step + 1 == steps;
  Value stage = isLastStep ? context.nextRead : context.read;
  SmallVector<SmallVector<Value>> loaded;
  auto loadUntil = [&](unsigned count) {
    while (loaded.size() < std::min(count, product.numLoads()))
      loaded.push_back(
          product.load(stage, isLastStep ? 0 : step + 1, loaded.size()));
  };
  // Loads are spread over the first quarter of the products.
  unsigned loadTime = std::max(1u, products / 4);
  product.multiply(carried.accumulators, carried.fragments, [&](unsigned i) {
    if (!isLastStep)
      copyUntil(step * products + i, (steps - 1) * products, carried, context);
    loadUntil(llvm::divideCeil(product.numLoads() * (i + 1), loadTime));
  });
  carried.fragments = product.order(loaded);
  if (step + 2 == steps) {
    copyUntil(1, 1, carried, context); // all that are left
    copies.commit();
    copies.wait(frame.geometry.stages - 2);
    frame.barrier();
  }
}
