//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-to-tiled: linear layers of strategy tiled become destination-style
// ops, one kernel each; split products are guarded by one more.
//
//===----------------------------------------------------------------------===//

#include "ApproximateGelu.h"
#include "CutAtReduction.h"
#include "CutAtRows.h"
#include "ElementwiseToEpilogue.h"
#include "NormaliseByInputMoments.h"
#include "ShortenSilu.h"
#include "SplitOperands.h"
#include "TakeProduct.h"

#include "tenon/Codegen/CUDA/Passes.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Schedule/Checks/EpilogueObstacle.h"
#include "tenon/Schedule/Checks/LayerKernels.h"
#include "tenon/Schedule/Checks/LayerPair.h"
#include "tenon/Schedule/Checks/LayerSum.h"
#include "tenon/Schedule/Checks/ProductMethod.h"
#include "tenon/Schedule/Checks/ReductionMethod.h"
#include "tenon/Schedule/Checks/RowParts.h"
#include "tenon/Schedule/Checks/Schedule.h"
#include "tenon/Schedule/Checks/ScheduleFamily.h"
#include "tenon/Schedule/MmaSync/MmaSyncSchedule.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONTOTILED
#include "tenon/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// Converts the layers of one function; those that need workspaces of one size
/// share one.
class FunctionConverter {
public:
  FunctionConverter(FunctionOpInterface function, RewriterBase &rewriter)
      : function(function), rewriter(rewriter) {}

  /// Converts `layer` if its strategy is tiled. Fails, with a message, if it
  /// lacks a schedule or has a precision that its kernel does not give.
  LogicalResult convert(LinearLikeOp layer);

private:
  LogicalResult convertPair(LinearLikeOp layer, ScheduleAttr schedule);
  LogicalResult convertSum(LinearLikeOp layer, ScheduleAttr schedule);
  void getPairOperands(FusedLinearOp op, FusedLinearOp gate,
                       ScheduleAttr schedule, SmallVectorImpl<Value> &matrices,
                       SmallVectorImpl<Value> &factors);
  TiledLinearOp createPairGuard(FusedLinearOp op, FusedLinearOp gate,
                                TiledLinearOp tiled);
  void replace(FusedLinearOp op, ScheduleAttr schedule);
  TiledLinearOp createSplit(FusedLinearOp op, ValueRange outputs,
                            ScheduleAttr schedule);
  TiledLinearOp createTiled(FusedLinearOp op, Value x, Value w,
                            ValueRange factors, ValueRange outputs,
                            ScheduleAttr schedule, OperandLayoutAttr layout);
  void moveEpilogue(FusedLinearOp op, TiledLinearOp tiled);
  Value getWorkspace(ScheduleAttr schedule);
  Value createOutput(FusedLinearOp op, OpResult result);

  FunctionOpInterface function;
  RewriterBase &rewriter;
  llvm::DenseMap<int64_t, Value> workspaces; ///< by bytes
};
} // namespace

Value FunctionConverter::getWorkspace(ScheduleAttr schedule) {
  int64_t bytes = getWorkspaceBytes(schedule);
  if (bytes == 0)
    return Value();
  Value &workspace = workspaces[bytes];
  if (!workspace)
    workspace = createWorkspace(rewriter, function, bytes);
  return workspace;
}

//===----------------------------------------------------------------------===//
// The epilogue
//===----------------------------------------------------------------------===//

void FunctionConverter::moveEpilogue(FusedLinearOp op, TiledLinearOp tiled) {
  rewriter.inlineRegionBefore(op.getEpilogue(), tiled.getEpilogue(),
                              tiled.getEpilogue().end());
  if (op.getPrecision() == Precision::TF32)
    approximateGelu(tiled);
  shortenSilu(tiled);
}

/// An output of the product's shape or, for new statistics, of [N]; of moments,
/// whose rows follow from M.
Value FunctionConverter::createOutput(FusedLinearOp op, OpResult result) {
  auto type = cast<RankedTensorType>(result.getType());
  auto moments = op.getYield()
                     .getValues()[result.getResultNumber()]
                     .getDefiningOp<MomentsOp>();
  if (!moments || type.hasStaticShape())
    return createEmpty(rewriter, op.getLoc(), type, op.getX());
  Location loc = op.getLoc();
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  Value m = tensor::DimOp::create(rewriter, loc, op.getX(), 0);
  Value blocks =
      arith::CeilDivUIOp::create(rewriter, loc, m, constant(moments.getRows()));
  Value rows = arith::MulIOp::create(rewriter, loc, blocks,
                                     constant(moments.getNumScalars()));
  return tensor::EmptyOp::create(rewriter, loc, type, rows);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// A tiled op that multiplies `x` and `w`, which lie so, for `op`, without its
/// region.
TiledLinearOp FunctionConverter::createTiled(FusedLinearOp op, Value x, Value w,
                                             ValueRange factors,
                                             ValueRange outputs,
                                             ScheduleAttr schedule,
                                             OperandLayoutAttr layout) {
  return TiledLinearOp::create(rewriter, op.getLoc(), x, w, factors,
                               op.getEpilogueOperands(), outputs,
                               getWorkspace(schedule), schedule, layout);
}

/// A split product and, after it, what computes anew the tiles that it may have
/// got wrong.
TiledLinearOp FunctionConverter::createSplit(FusedLinearOp op,
                                             ValueRange outputs,
                                             ScheduleAttr schedule) {
  unsigned parts = getTraits(schedule.getMethod()).parts;
  Location loc = op.getLoc();
  int64_t n = op.getExtents().n;
  int64_t reduced = reducesRows(schedule) ? getReducedColumns(op) : n;
  auto [x, xFactors] =
      getSplit(op.getX(), isXTransposed(op.getLayout()), parts, loc, rewriter);
  auto [w, wFactors] =
      getSplit(op.getW(), isWTransposed(op.getLayout()), parts, loc, rewriter);
  SmallVector<Value> factors{xFactors, wFactors};
  TiledLinearOp tiled = createTiled(op, x, w, factors, outputs, schedule,
                                    /*layout=*/OperandLayoutAttr());
  moveEpilogue(op, tiled);
  bool isResident = schedule.getReduction() == ReductionMethod::Resident;
  ScheduleAttr guard = getGuardSchedule(
      op.getContext(), op.getPrecision().value_or(Precision::FP32),
      op.getExtents().m, schedule.getReduction(),
      isResident ? schedule.getTile()[0] : schedule.getMomentRows(),
      getColumnsBeside(schedule, n, reduced), /*ofGroups=*/reduced != n);
  TiledLinearOp guarded =
      createTiled(op, lookThroughSplit(op.getX()), lookThroughSplit(op.getW()),
                  factors, tiled.getResults(), guard, op.getLayoutAttr());
  IRMapping mapping;
  tiled.getEpilogue().cloneInto(&guarded.getEpilogue(), mapping);
  return guarded;
}

/// What scales the bytes that a kernel of the schedule multiplies, if anything.
static ScaledOperands getScaled(FusedLinearOp op, ScheduleAttr schedule) {
  return schedule.getMethod() == ProductMethod::FP8 ? findScaledOperands(op)
                                                    : ScaledOperands();
}

void FunctionConverter::replace(FusedLinearOp op, ScheduleAttr schedule) {
  SmallVector<Value> outputs;
  for (OpResult result : op->getResults())
    outputs.push_back(createOutput(op, result));
  TiledLinearOp tiled;
  if (schedule.isSplit()) {
    tiled = createSplit(op, outputs, schedule);
  } else if (ScaledOperands scaled = getScaled(op, schedule)) {
    tiled = createTiled(op, scaled.x.getX(), scaled.w.getX(),
                        {scaled.x.getScales(), scaled.w.getScales()}, outputs,
                        schedule, /*layout=*/OperandLayoutAttr());
    moveEpilogue(op, tiled);
  } else {
    tiled = createTiled(op, lookThroughSplit(op.getX()),
                        lookThroughSplit(op.getW()),
                        /*factors=*/{}, outputs, schedule, op.getLayoutAttr());
    moveEpilogue(op, tiled);
  }
  rewriter.replaceOp(op, tiled.getResults());
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Checks that `schedule` gives what the layer's precision asks.
static LogicalResult checkPrecision(LinearLikeOp op, ScheduleAttr schedule) {
  Type type = getMultipliedType(op, schedule.getMethod());
  Precision precision = op.getPrecision().value_or(Precision::FP32);
  std::string problem = findPrecisionProblem(schedule.getMethod(), type,
                                             op.getPrecision(), op.getK());
  if (type.isF32() && problem.empty() && precision != Precision::FP32 &&
      precision != Precision::TF32)
    problem = "x and w are f32; run --tenon-select-strategy before, which "
              "casts them";
  if (problem.empty())
    if (auto found =
            findLayoutProblem(schedule.getMethod(), type, op.getLayout()))
      problem = found->getText();
  if (problem.empty())
    return success();
  InFlightDiagnostic error = op->emitOpError("has strategy tiled");
  if (type.isF32())
    error << " and precision " << stringifyPrecision(precision) << ", but ";
  else
    error << ": ";
  return error << problem;
}

/// A cast of a result, for the next layer, joins a layer when that has its
/// schedule, and a resident kernel may have no room for one result more: then
/// the batch norm takes two kernels.
static ScheduleAttr getRoomySchedule(LinearLikeOp layer,
                                     ScheduleAttr schedule) {
  auto op = dyn_cast<FusedLinearOp>(layer.getOperation());
  if (!op || schedule.getReduction() != ReductionMethod::Resident ||
      ScheduleFamily::of(schedule).hasRoom(op, schedule))
    return schedule;
  ScheduleAttr twoPhase =
      schedule.withoutDefer().withReduction(ReductionMethod::TwoPhase);
  if (!findProblem(twoPhase, op.getX().getType().getElementType(),
                   *lookupTarget("sm_90a"))
           .empty() ||
      !findReductionProblem(op, twoPhase).empty())
    return schedule;
  auto function = op->getParentOfType<FunctionOpInterface>();
  ValuedRemark(remark::missed(op.getLoc(), remark::RemarkOpts::name("Reduction")
                                               .category("tenon-to-tiled")
                                               .function(function.getName())))
          .set("reduction", stringifyReductionMethod(twoPhase.getReduction()))
      << remark::add("two_phase in the place of resident")
      << Reason(ReasonCode::JoinedSinceChosen)
      << ArrayRef(listKernels(op, twoPhase));
  return twoPhase;
}

/// Moves the region of a pair's layer to `tiled`, with the gate's in front of
/// it: its product is the second argument, its operands are the last, what the
/// layer reads of its results is what it yields, and those that are kept are
/// yielded behind the layer's own.
static void moveEpilogues(const LayerPair &pair, TiledLinearOp tiled,
                          RewriterBase &rewriter) {
  FusedLinearOp layer = pair.layer,
                gate = cast<FusedLinearOp>(LinearLikeOp(pair.gate));
  SmallVector<std::pair<BlockArgument, unsigned>> read;
  for (OpOperand *operand : pair.getGateOperands())
    read.push_back({layer.getArgumentOf(*operand),
                    cast<OpResult>(operand->get()).getResultNumber()});
  rewriter.inlineRegionBefore(layer.getEpilogue(), tiled.getEpilogue(),
                              tiled.getEpilogue().end());
  Block *body = tiled.getBody();
  Location loc = gate.getLoc();
  SmallVector<Value> arguments{
      body->insertArgument(1u, gate.getAccumulator().getType(), loc)};
  for (Value operand : gate.getEpilogueOperands())
    arguments.push_back(body->addArgument(operand.getType(), loc));
  YieldOp yield = gate.getYield();
  rewriter.inlineBlockBefore(gate.getBody(), body, body->begin(), arguments);
  for (auto [argument, result] : read) {
    rewriter.replaceAllUsesWith(argument, yield.getValues()[result]);
    body->eraseArgument(argument.getArgNumber());
  }
  for (OpResult result : pair.getKeptResults())
    tiled.getYield().getValuesMutable().append(
        yield.getValues()[result.getResultNumber()]);
  rewriter.eraseOp(yield);
}

/// x and both weights as a kernel of the schedule reads them, and the factors
/// of their rows if they are split.
void FunctionConverter::getPairOperands(FusedLinearOp op, FusedLinearOp gate,
                                        ScheduleAttr schedule,
                                        SmallVectorImpl<Value> &matrices,
                                        SmallVectorImpl<Value> &factors) {
  unsigned parts = getTraits(schedule.getMethod()).parts;
  for (Value operand :
       {Value(op.getX()), Value(op.getW()), Value(gate.getW())}) {
    if (parts == 0) {
      matrices.push_back(lookThroughSplit(operand));
      continue;
    }
    auto [halves, ofRows] =
        getSplit(operand, /*transposed=*/false, parts, op.getLoc(), rewriter);
    matrices.push_back(halves);
    factors.push_back(ofRows);
  }
}

/// What computes anew the tiles that a split product of two weights may have
/// got wrong: first the gate's products, then the rest. Both look at all
/// factors.
TiledLinearOp FunctionConverter::createPairGuard(FusedLinearOp op,
                                                 FusedLinearOp gate,
                                                 TiledLinearOp tiled) {
  Location loc = op.getLoc();
  ScheduleAttr schedule = getGuardSchedule(
      op.getContext(), op.getPrecision().value_or(Precision::FP32),
      op.getExtents().m, ReductionMethod::Separate,
      tiled.getSchedule().getMomentRows(), op.getExtents().n);
  Value x = lookThroughSplit(op.getX());
  auto create = [&](FusedLinearOp layer, ArrayRef<Value> factors,
                    ValueRange inputs, ValueRange outputs) {
    return TiledLinearOp::create(rewriter, loc, x,
                                 lookThroughSplit(layer.getW()), factors,
                                 inputs, outputs, /*workspace=*/Value(),
                                 schedule, /*layout=*/OperandLayoutAttr());
  };
  Value ofX = tiled.getFactors()[0], ofW = tiled.getFactors()[1],
        ofGate = tiled.getFactors()[2];
  auto product = cast<RankedTensorType>(tiled.getAccumulators()[1].getType());
  TiledLinearOp first = create(gate, {ofX, ofGate, ofW}, {},
                               createEmpty(rewriter, loc, product, op.getX()));
  {
    OpBuilder::InsertionGuard guard(rewriter);
    Block *body = rewriter.createBlock(&first.getEpilogue(), {}, product, loc);
    YieldOp::create(rewriter, loc, body->getArgument(0));
  }
  // The gate's product argument becomes that of the first input.
  SmallVector<Value> inputs(first.getResults());
  llvm::append_range(inputs, tiled.getInputs());
  TiledLinearOp rest =
      create(op, {ofX, ofW, ofGate}, inputs, tiled.getResults());
  IRMapping mapping;
  tiled.getEpilogue().cloneInto(&rest.getEpilogue(), mapping);
  return rest;
}

/// The gate is left to the layer whose epilogue reads it.
LogicalResult FunctionConverter::convertPair(LinearLikeOp layer,
                                             ScheduleAttr schedule) {
  auto isPair = [&](LayerPair pair) {
    return pair && !findPairObstacle(pair) &&
           pair.gate.getScheduleAttr() == schedule &&
           pair.layer.getScheduleAttr() == schedule;
  };
  if (isPair(findPairOfGate(layer)))
    return success();
  LayerPair pair = findPair(layer);
  if (!isPair(pair))
    return layer->emitOpError("cannot have the schedule ")
           << schedule
           << ": it is for two layers that read one x, of which one has the "
              "other's result as an operand of its epilogue";
  FusedLinearOp op = pair.layer, gate = toFused(pair.gate, rewriter);
  pair.gate = gate;
  rewriter.setInsertionPoint(op);
  auto results = llvm::to_vector_of<OpResult>(op->getResults());
  llvm::append_range(results, pair.getKeptResults());
  SmallVector<Value> outputs, inputs;
  for (OpResult result : results)
    outputs.push_back(
        createOutput(cast<FusedLinearOp>(result.getOwner()), result));
  for (Value operand : op.getEpilogueOperands())
    if (operand.getDefiningOp() != gate)
      inputs.push_back(operand);
  llvm::append_range(inputs, gate.getEpilogueOperands());
  SmallVector<Value> matrices, factors;
  getPairOperands(op, gate, schedule, matrices, factors);
  auto tiled = TiledLinearOp::create(
      rewriter, op.getLoc(), matrices[0], ArrayRef(matrices).drop_front(),
      factors, inputs, outputs, getWorkspace(schedule), schedule,
      /*layout=*/OperandLayoutAttr());
  moveEpilogues(pair, tiled, rewriter);
  if (op.getPrecision() == Precision::TF32)
    approximateGelu(tiled);
  TiledLinearOp last =
      schedule.isSplit() ? createPairGuard(op, gate, tiled) : tiled;
  for (auto [result, value] : llvm::zip_equal(results, last.getResults()))
    rewriter.replaceAllUsesWith(result, value);
  rewriter.eraseOp(op);
  rewriter.eraseOp(gate);
  return success();
}

/// The layers that have a kernel of this schedule together, of which `op` is
/// the last.
static LayerSum findSumBy(LinearLikeOp op, ScheduleAttr schedule) {
  LayerSum sum = findSum(op, schedule.getTerms());
  bool isOne = std::ssize(sum.layers) == schedule.getTerms() &&
               llvm::all_of(sum.layers, [&](LinearLikeOp layer) {
                 return layer.getScheduleAttr() == schedule;
               });
  return isOne ? sum : LayerSum();
}

/// How many layers of this schedule come behind `op`, of which each adds what
/// the one before it gives.
static int64_t countBehind(LinearLikeOp op, ScheduleAttr schedule) {
  for (Operation *user : op->getUsers())
    if (auto layer = dyn_cast<LinearLikeOp>(user);
        layer && layer.getScheduleAttr() == schedule &&
        findAddedLayer(layer) == op && !findSumObstacle(layer))
      return 1 + countBehind(layer, schedule);
  return 0;
}

/// Moves the region of `added`, whose result `tiled`'s adds to its product, in
/// front of that: the product takes what it gives in the place of both, and its
/// operands are the last.
static void moveAdditions(FusedLinearOp added, BlockArgument addend,
                          TiledLinearOp tiled, RewriterBase &rewriter) {
  auto addition = cast<AddOp>(*addend.user_begin());
  Value other = addition.getOperand(0) == addend ? addition.getOperand(1)
                                                 : addition.getOperand(0);
  rewriter.replaceOp(addition, other);
  Block *body = tiled.getBody();
  body->eraseArgument(addend.getArgNumber());
  Location loc = added.getLoc();
  BlockArgument product = body->getArgument(0);
  SmallVector<Value> arguments{
      body->insertArgument(0u, product.getType(), loc)};
  for (Value operand : added.getEpilogueOperands())
    arguments.push_back(body->addArgument(operand.getType(), loc));
  YieldOp yield = added.getYield();
  rewriter.inlineBlockBefore(added.getBody(), body, body->begin(), arguments);
  rewriter.replaceAllUsesWith(product, yield.getValues()[0]);
  body->eraseArgument(1);
  rewriter.eraseOp(yield);
}

/// The same for all layers but the first of those from the last one on, whose
/// region `tiled` has.
static void moveAdditionsOfAll(ArrayRef<FusedLinearOp> layers,
                               TiledLinearOp tiled, RewriterBase &rewriter) {
  unsigned first = 1; // argument of a layer's operands
  for (size_t i = 1; i != layers.size(); ++i) {
    FusedLinearOp one = layers[i - 1], added = layers[i];
    OperandRange operands = one.getEpilogueOperands();
    auto addend = llvm::find(operands, added->getResult(0));
    moveAdditions(
        added,
        tiled.getBody()->getArgument(first + (addend - operands.begin())),
        tiled, rewriter);
    first += operands.size() - 1;
  }
}

/// Layers before the last are left to that, whose x and w come first.
LogicalResult FunctionConverter::convertSum(LinearLikeOp layer,
                                            ScheduleAttr schedule) {
  if (countBehind(layer, schedule) % schedule.getTerms() != 0)
    return success();
  LayerSum sum = findSumBy(layer, schedule);
  if (!sum)
    return layer->emitOpError("cannot have the schedule ")
           << schedule
           << ": it is for layers of which each has the result of the one "
              "before it added to its product";
  SmallVector<FusedLinearOp> layers; // from the last one on
  for (LinearLikeOp one : llvm::reverse(sum.layers))
    layers.push_back(toFused(one, rewriter));
  FusedLinearOp op = layers.front();
  rewriter.setInsertionPoint(op);
  SmallVector<Value> outputs, inputs, terms;
  for (OpResult result : op->getResults())
    outputs.push_back(createOutput(op, result));
  for (auto [index, one] : llvm::enumerate(layers)) {
    Operation *next = index + 1 == layers.size() ? nullptr : layers[index + 1];
    for (Value operand : one.getEpilogueOperands())
      if (!next || operand.getDefiningOp() != next)
        inputs.push_back(operand);
    if (index != 0)
      terms.append(
          {lookThroughSplit(one.getX()), lookThroughSplit(one.getW())});
  }
  auto tiled = TiledLinearOp::create(
      rewriter, op.getLoc(), lookThroughSplit(op.getX()),
      lookThroughSplit(op.getW()), /*factors=*/ValueRange(), inputs, outputs,
      getWorkspace(schedule), schedule, op.getLayoutAttr());
  tiled.getFurtherTermsMutable().assign(terms);
  moveEpilogue(op, tiled);
  moveAdditionsOfAll(layers, tiled, rewriter);
  rewriter.replaceOp(op, tiled.getResults());
  for (FusedLinearOp one : ArrayRef(layers).drop_front())
    rewriter.eraseOp(one);
  return success();
}

LogicalResult FunctionConverter::convert(LinearLikeOp layer) {
  if (layer.getStrategy() != Strategy::Tiled)
    return success();
  ScheduleAttr schedule = layer.getScheduleAttr();
  if (!schedule)
    return layer->emitOpError("has strategy tiled, but no schedule; run "
                              "--tenon-select-strategy before, or write a "
                              "'schedule'");
  if (failed(checkPrecision(layer, schedule)))
    return failure();
  if (schedule.getWeights() != 1)
    return convertPair(layer, schedule);
  if (schedule.getTerms() != 1)
    return convertSum(layer, schedule);
  schedule = getRoomySchedule(layer, schedule);
  if (std::string problem = findReductionProblem(layer, schedule);
      !problem.empty())
    return layer->emitOpError("cannot have the schedule ")
           << schedule << ": " << problem;
  FusedLinearOp op = toFused(layer, rewriter);
  rewriter.setInsertionPoint(op);
  if (schedule.getReduction() == ReductionMethod::TwoPhase)
    op = cutAtReduction(op, schedule.getMomentRows(), rewriter);
  else if (schedule.getReduction() == ReductionMethod::ReduceOnly)
    op = cutAtRows(op, schedule.getTile()[1], rewriter);
  else if (schedule.getReduction() == ReductionMethod::InputMoments)
    op = normaliseByInputMoments(op, rewriter);
  else if (schedule.getMethod() != ProductMethod::Direct &&
           schedule.getReduction() == ReductionMethod::Separate &&
           findEpilogueObstacle(op))
    op = takeProduct(op, rewriter);
  rewriter.setInsertionPoint(op);
  replace(op, schedule);
  return success();
}

/// What stands beside a matrix is of no use once its layers are tiled ops, and
/// scaled bytes are not where only their number is asked for.
static void dropSplits(FunctionOpInterface function, RewriterBase &rewriter) {
  function.walk([](tensor::DimOp op) {
    if (auto scale = op.getSource().getDefiningOp<ScaleBlocksOp>())
      op.getSourceMutable().assign(scale.getX());
  });
  function.walk([&](WithSplitOp op) { rewriter.replaceOp(op, op.getX()); });
}

namespace {
struct ToTiled : tenon::impl::TenonToTiledBase<ToTiled> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      FunctionConverter converter(function, rewriter);
      WalkResult result = function.walk([&](LinearLikeOp layer) {
        return WalkResult(converter.convert(layer));
      });
      if (result.wasInterrupted())
        return signalPassFailure();
      dropSplits(function, rewriter);
    }
  }
};
} // namespace
