//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which layers each way to reduce a product can serve.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/Checks/ReductionMethod.h"

#include "tenon/Schedule/Checks/RowParts.h"
#include "tenon/Schedule/Checks/ScheduleFamily.h"

#include "tenon/Dialect/Tenon/Analysis/EpiloguePlan.h"
#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tenon;
using llvm::formatv;

namespace {
/// The region of a layer, divided at its reductions.
struct Division {
  explicit Division(FusedLinearOp op);

  /// Values that depend on the product, but on no reduction.
  SmallPtrSet<Value, 8> before;
  /// Ops that depend on a reduction, itself and the yield included.
  SmallVector<Operation *> after;
};
} // namespace

Division::Division(FusedLinearOp op) {
  before.insert(op.getAccumulator());
  SmallPtrSet<Value, 8> normalised;
  for (Operation &inner : *op.getBody()) {
    auto isIn = [&](const SmallPtrSet<Value, 8> &values) {
      return llvm::any_of(inner.getOperands(), [&](Value operand) {
        return values.contains(operand);
      });
    };
    if (isa<ReductionEpilogueOp, YieldOp>(inner) || isIn(normalised)) {
      after.push_back(&inner);
      normalised.insert_range(inner.getResults());
    } else if (isIn(before)) {
      before.insert_range(inner.getResults());
    }
  }
}

/// Whether `value` can be computed of `stored` and of what does not depend on
/// the product; not `again` if only what is there counts.
static bool follows(Value value, Value stored, const Division &division,
                    bool again) {
  if (value == stored || !division.before.contains(value))
    return true;
  if (!again)
    return false;
  Operation *producer = value.getDefiningOp();
  return producer && llvm::all_of(producer->getOperands(), [&](Value operand) {
           return follows(operand, stored, division, again);
         });
}

static std::string describe(Value value) {
  Operation *producer = value.getDefiningOp();
  return producer ? formatv("'{0}'", producer->getName().getStringRef()).str()
                  : "the product";
}

/// An operand of what follows the reductions that depends on the product
/// without them, and does not follow from `stored`; null if there is none. Sums
/// read what they are of in the product's kernel.
static OpOperand *findCrossingOperand(Value stored, const Division &division,
                                      bool again = true) {
  for (Operation *user : division.after)
    for (OpOperand &operand : user->getOpOperands())
      if (!isa<BatchSumOp>(user) &&
          !follows(operand.get(), stored, division, again))
        return &operand;
  return nullptr;
}

/// What follows the batch norm reads of what precedes it, but cannot have, as
/// one value alone is kept: with two phases one is stored, and a tile that
/// waits has the norm's input. New statistics can only be returned.
static std::string findCrossing(FusedLinearOp op, ReductionEpilogueOp reduction,
                                ReductionMethod method) {
  Division division(op);
  if (!division.before.contains(reduction.getReducedInput()))
    return "the batch norm's input does not depend on the product";
  OpOperand *crossing = nullptr;
  if (method == ReductionMethod::TwoPhase)
    crossing = findCrossingOperand(getStored(op), division);
  else if (auto norm = dyn_cast<BatchNormTrainingOp>(reduction.getOperation());
           norm && method == ReductionMethod::Resident) {
    Value kept = findKept(op.getAccumulator(), norm);
    crossing = findCrossingOperand(kept, division,
                                   /*again=*/kept != norm.getInput());
  }
  if (crossing && isa<YieldOp>(crossing->getOwner()))
    return formatv("result #{0} is that of {1}, before the batch norm, and "
                   "only the norm's input is kept",
                   crossing->getOperandNumber(), describe(crossing->get()))
        .str();
  if (crossing)
    return formatv("'{0}', after the batch norm, reads the result of {1}, "
                   "before it, and only the norm's input is kept",
                   crossing->getOwner()->getName().getStringRef(),
                   describe(crossing->get()))
        .str();
  for (Value statistic : reduction.getColumnResults())
    for (Operation *user : statistic.getUsers())
      if (!isa<YieldOp>(user))
        return formatv("'{0}' reads a statistic of the batch, which the layer "
                       "can only return",
                       user->getName().getStringRef());
  return "";
}

/// What a reduction is of, if one is of a result, of that.
static Value getReducedValue(FusedLinearOp op) {
  auto reductions = op.getBody()->getOps<ReductionEpilogueOp>();
  ReductionEpilogueOp first = *reductions.begin();
  for (ReductionEpilogueOp reduction : reductions)
    if (llvm::is_contained(op.getYield().getValues(),
                           reduction.getReducedInput()))
      return reduction.getReducedInput();
  return first.getReducedInput();
}

Value tenon::getStored(FusedLinearOp op) {
  Division division(op);
  Value reduced = getReducedValue(op);
  if (!findCrossingOperand(reduced, division))
    return reduced;
  for (Value result : op.getYield().getValues())
    if (division.before.contains(result) &&
        !findCrossingOperand(result, division))
      return result;
  return reduced;
}

bool tenon::reducesRowOperand(FusedLinearOp op) {
  FailureOr<EpiloguePlan> plan = EpiloguePlan::get(*op.getBody());
  return succeeded(plan) && plan->readsRowOperandFirst();
}

/// What a kernel asks whose row tiles wait for each other (schedule-R6).
static std::string findResidentProblem(FusedLinearOp op, ScheduleAttr schedule,
                                       BatchNormTrainingOp norm) {
  constexpr StringLiteral remedy = "; write reduction = two_phase";
  const ScheduleFamily &family = ScheduleFamily::of(schedule);
  StringRef name = stringifyKernelFamily(schedule.getFamily());
  if (schedule.getStreamK())
    return ("stream_k leaves a tile unfinished when others wait for it" +
            remedy)
        .str();
  if (family.traits.isResidentDirect &&
      schedule.getMethod() != ProductMethod::Direct)
    return (name +
            " kernels that wait for other tiles multiply directly, not by "
            "method " +
            stringifyProductMethod(schedule.getMethod()) + remedy)
        .str();
  if (norm.getInput().getType().isDynamicDim(0) &&
      !family.traits.isResidentDynamic)
    return ("M is dynamic, and all row tiles of kernels of " + name +
            " must fit the GPU" + remedy)
        .str();
  if (norm.getInput().getType().isDynamicDim(0) &&
      findKept(op.getAccumulator(), norm) != norm.getInput())
    return ("M is dynamic, and more rows than the GPU holds are reduced by "
            "kernels that pass on the batch norm's input alone" +
            remedy)
        .str();
  return family.findResidentProblem(op, schedule);
}

/// The step of `op`, one of whose operands is the value before; nothing if it
/// is none.
template <typename OpTy>
static std::optional<AffineStep> findStep(OpTy op, Value &before) {
  AffineStep step{std::is_same_v<OpTy, MulOp>, /*operand=*/Value()};
  auto isMatrix = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getRank() == 2;
  };
  before = op.getInput();
  if (FloatAttr scalar = op.getScalarAttr()) {
    step.scalar = scalar.getValueAsDouble();
    return step;
  }
  step.operand = op.getOther();
  if (!isMatrix(before))
    std::swap(before, step.operand);
  if (isMatrix(step.operand))
    return std::nullopt;
  return step;
}

std::optional<SmallVector<AffineStep>>
tenon::findAffineSteps(FusedLinearOp op, BatchNormTrainingOp norm) {
  return findAffineSteps(op.getAccumulator(), norm);
}

/// Calls `visit` for each value from the norm's input to `product`, but for
/// that, with the step that gives it of the one before, if it is no change of
/// type. False if something else than such steps is between them.
static bool
walkAffineSteps(Value product, BatchNormTrainingOp norm,
                llvm::function_ref<void(Value, const AffineStep *)> visit) {
  for (Value value = norm.getInput(); value != product;) {
    Value given = value;
    Operation *producer = value.getDefiningOp();
    std::optional<AffineStep> step;
    if (auto add = dyn_cast_or_null<AddOp>(producer))
      step = findStep(add, value);
    else if (auto mul = dyn_cast_or_null<MulOp>(producer))
      step = findStep(mul, value);
    else if (isa_and_nonnull<CastOp, arith::ExtFOp, arith::TruncFOp>(
                 producer)) {
      value = producer->getOperand(0);
      visit(given, nullptr);
      continue;
    }
    if (!step)
      return false;
    visit(given, &*step);
  }
  return true;
}

std::optional<SmallVector<AffineStep>>
tenon::findAffineSteps(Value product, BatchNormTrainingOp norm) {
  SmallVector<AffineStep> steps;
  auto add = [&](Value, const AffineStep *step) {
    if (step)
      steps.push_back(*step);
  };
  if (!walkAffineSteps(product, norm, add))
    return std::nullopt;
  std::reverse(steps.begin(), steps.end());
  return steps;
}

Value tenon::findKept(Value product, BatchNormTrainingOp norm) {
  Value input = norm.getInput(), first = input;
  bool isExact = norm->getBlock()->getOps<arith::TruncFOp>().empty();
  auto note = [&](Value value, const AffineStep *step) {
    if (!value.hasOneUse())
      first = value;
    if (step && step->operand && getElementTypeOrSelf(step->operand).isF64())
      isExact = false;
  };
  bool isAffine = walkAffineSteps(product, norm, note);
  if (!product.hasOneUse())
    first = product;
  return isAffine && isExact && input.hasOneUse() ? first : input;
}

/// What keeps x and w from giving the statistics of the norm's input
/// (schedule-R7).
static std::string findInputMomentsProblem(FusedLinearOp op,
                                           BatchNormTrainingOp norm) {
  constexpr StringLiteral remedy = "; write reduction = two_phase";
  int64_t k = op.getExtents().k;
  if (op.getLayout().value_or(OperandLayout::MK_NK) != OperandLayout::MK_NK)
    return ("moments are taken of x [M, K] and w [N, K]" + remedy).str();
  if (k > ProductMomentsOp::kMaxColumns)
    return formatv("moments of x take K^2 products a row, and K = {0} is more "
                   "than {1}, beyond which those of the product take less "
                   "time{2}",
                   k, ProductMomentsOp::kMaxColumns, remedy);
  if (isNarrowFloat(op.getInputType()))
    return ("moments are taken of x in 16 bits or more" + remedy).str();
  if (op.getPrecision() == Precision::TF32)
    return ("a product of precision tf32 rounds x and w, so its moments are "
            "others than theirs" +
            remedy)
        .str();
  if (!findAffineSteps(op, norm))
    return ("between the product and the batch norm there is more than "
            "products and sums with numbers or vectors [N]" +
            remedy)
        .str();
  if (llvm::all_of(op.getYield().getValues(), [&](Value value) {
        return llvm::is_contained(norm.getStatistics(), value);
      }))
    return ("the layer returns statistics alone" + remedy).str();
  return "";
}

/// Columns of the tiles of kernels that stand beside one that reduces parts of
/// rows: a power of two, so many at least and at most.
static constexpr int64_t kFewestColumnsBeside = 64, kMostColumnsBeside = 256;

/// Columns that the instructions of a mma_sync kernel take together, and those
/// of a wgmma's fragment, of which a thread has two.
static constexpr int64_t kColumnsOfWarp = 32, kColumnsOfFragment = 8;
/// Of the kernel that computes anew: what its warps have of a tile at most.
static constexpr int64_t kMostColumnsOfGuard = 128;

int64_t tenon::getColumnsBeside(ScheduleAttr schedule, int64_t n,
                                int64_t columns) {
  if (schedule.getReduction() == ReductionMethod::ReduceOnly)
    return schedule.getTile()[1];
  if (schedule.getReduction() == ReductionMethod::InTile) {
    if (columns == n)
      return n;
    int64_t whole =
        std::max(std::lcm(columns, kColumnsOfWarp), kFewestColumnsBeside);
    return whole > kMostColumnsOfGuard ? 0 : whole;
  }
  if (columns == n) {
    auto wide = static_cast<int64_t>(llvm::PowerOf2Ceil(schedule.getTile()[1]));
    return std::clamp(wide, kFewestColumnsBeside, kMostColumnsBeside);
  }
  int64_t dividing = columns & -columns; // the largest power of two
  return dividing < kFewestColumnsBeside
             ? 0
             : std::min(dividing, kMostColumnsBeside);
}

static std::string findSpreadProblem(ScheduleAttr schedule) {
  if (!schedule.hasSwappedOperands() && !schedule.getDefer())
    return "";
  return formatv("with {0} a row is spread over warps; write warps = {1}x1, "
                 "and leave out defer",
                 schedule.getDefer() ? "defer" : "operands swapped",
                 schedule.getNumWarps());
}

std::string tenon::findPartTileProblem(ScheduleAttr schedule, int64_t n) {
  std::string problem = findSpreadProblem(schedule);
  if (!problem.empty())
    return problem;
  int64_t columns = schedule.getTile()[1];
  if (!llvm::is_contained({64, 128, 256}, columns))
    return formatv("N of the tile is {0}, but kernels that stand beside it "
                   "have tiles of 64, 128 or 256 columns; write one of these",
                   columns);
  if (columns >= n)
    return formatv("a tile has whole rows, of N = {0} columns; write "
                   "reduction = in_tile",
                   n);
  return "";
}

/// Several groups lie in a tile, each in a warp's part of it.
static std::string findGroupProblem(ScheduleAttr schedule, int64_t n,
                                    int64_t columns) {
  if (columns != 2 && columns != 4 && columns % kColumnsOfFragment != 0)
    return formatv("lanes have 2, 4 or a multiple of {0} neighbouring columns, "
                   "and groups have {1}; leave reduction out",
                   kColumnsOfFragment, columns);
  int64_t ofWarp = schedule.getTile()[1] / schedule.getWarps()[1];
  if (ofWarp % std::max(columns, kColumnsOfFragment) != 0)
    return formatv("a warp's part of the tile has {0} columns, no multiple of "
                   "those of groups, {1}; write another tile",
                   ofWarp, columns);
  if (schedule.isSplit() && getColumnsBeside(schedule, n, columns) == 0)
    return formatv("the kernel beside it, which computes anew what a split "
                   "does not hold, has no tile of groups of {0} columns; leave "
                   "reduction out",
                   columns);
  return "";
}

std::string tenon::findWholeRowProblem(ScheduleAttr schedule, int64_t n,
                                       int64_t columns) {
  if (std::string problem = findSpreadProblem(schedule); !problem.empty())
    return problem;
  if (columns != n)
    return findGroupProblem(schedule, n, columns);
  if (schedule.getPingPong())
    return "two tiles are at work with ping_pong, and a block has room for "
           "what is found of one's rows; leave ping_pong out";
  if (schedule.getTile()[1] < n)
    return formatv("a tile must have whole rows, but its N is {0}, less than "
                   "the layer's {1}; write a wider tile, or for N above 256 "
                   "leave reduction out",
                   schedule.getTile()[1], n);
  if (schedule.getClusterN() != 1)
    return "no other block has columns of a row; write cluster = 2x1 or 1x1";
  return "";
}

std::string tenon::findResidentRowProblem(ScheduleAttr schedule, int64_t n,
                                          int64_t columns) {
  if (std::string problem = findSpreadProblem(schedule); !problem.empty())
    return problem;
  int64_t ofUnit = schedule.getTile()[1] * schedule.getClusterN();
  if (columns != n && columns % ofUnit != 0)
    return formatv("a cluster's tiles have {0} columns, and groups of {1} are "
                   "no multiple of that; write a tile, or a cluster, of fewer",
                   ofUnit, columns);
  if (columns == n && schedule.getTile()[1] >= n)
    return formatv("a tile has whole rows, of N = {0} columns; write "
                   "reduction = in_tile",
                   n);
  if (schedule.isSplit() && getColumnsBeside(schedule, n, columns) == 0)
    return formatv("tiles of the kernel beside it, which computes anew what a "
                   "split does not hold, have {0} columns or more, and groups "
                   "of {1} are no multiple of that; leave reduction out",
                   kFewestColumnsBeside, columns);
  int64_t blocks =
      llvm::divideCeil(columns, ofUnit) * schedule.getClusterBlocks();
  if (blocks > getMaxBlocks(schedule))
    return formatv("all {0} tiles of a row must be at work together, more than "
                   "the {1} multiprocessors that any GPU is taken to have; "
                   "leave reduction out",
                   blocks, kMaxMultiprocessors);
  return "";
}

/// What every region asks whose rows are reduced before results are stored.
static std::string findRowRegionProblem(LinearLikeOp op) {
  Block *body = op.getEpilogueBody();
  if (!body || body->getOps<ReduceRowOp>().empty())
    return "the layer reduces no rows";
  RankedTensorType product = op.getProductType();
  if (product.getDimSize(0) == 1)
    return "of one row nothing is tiled";
  if (std::string problem = findNumbersProblem(*body); !problem.empty())
    return problem;
  int64_t groups = product.getDimSize(1) / getReducedColumns(op);
  for (Value operand : op.getEpilogueInputs())
    if (auto type = cast<RankedTensorType>(operand.getType());
        groups != 1 && type.getRank() != 0 && type.getShape().back() == groups)
      return "an operand has a value for each group of columns";
  for (auto [index, value] :
       llvm::enumerate(body->getTerminator()->getOperands())) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getShape() != product.getShape() &&
        !TiledLinearOp::isOfRows(value))
      return formatv("result #{0} is neither of the product's shape nor of one "
                     "value a row",
                     index);
  }
  return "";
}

/// Of a region that reduces rows.
static std::string findInTileProblem(LinearLikeOp op, ScheduleAttr schedule) {
  constexpr StringLiteral leaveOut = "; leave reduction out";
  if (std::string problem = findRowRegionProblem(op); !problem.empty())
    return problem + leaveOut.str();
  auto reductions = op.getEpilogueBody()->getOps<ReduceRowOp>();
  if (std::distance(reductions.begin(), reductions.end()) > kMaxRowReductions)
    return formatv("a kernel has room for {0} reductions of rows{1}",
                   kMaxRowReductions, leaveOut);
  int64_t n = op.getProductType().getDimSize(1);
  int64_t columns = getReducedColumns(op);
  auto isOfProduct = [&](Type type) {
    return cast<RankedTensorType>(type).getShape() ==
           op.getProductType().getShape();
  };
  if (columns != n && llvm::count_if(op->getResultTypes(), isOfProduct) > 1)
    return ("of groups of columns a tile keeps what is found while one result "
            "of the product's shape is computed" +
            leaveOut)
        .str();
  return findWholeRowProblem(schedule, n, columns);
}

/// Of a region whose rows tiles can finish when they have exchanged a few
/// numbers.
static std::string findResidentRowsProblem(LinearLikeOp op,
                                           ScheduleAttr schedule) {
  constexpr StringLiteral leaveOut = "; leave reduction out";
  std::string problem = findRowRegionProblem(op);
  if (problem.empty())
    problem = findRowExchangeProblem(op);
  if (!problem.empty())
    return problem + leaveOut.str();
  return findResidentRowProblem(schedule, op.getProductType().getDimSize(1),
                                getReducedColumns(op));
}

/// Of a region whose results follow from parts of rows.
static std::string findReduceOnlyProblem(LinearLikeOp op,
                                         ScheduleAttr schedule) {
  RankedTensorType product = op.getProductType();
  if (product.getDimSize(0) == 1)
    return "of one row nothing is tiled; leave reduction out";
  if (std::string problem = findRowPartsProblem(op); !problem.empty())
    return problem + "; leave reduction out";
  return findPartTileProblem(schedule, product.getDimSize(1));
}

std::string tenon::findReductionProblem(LinearLikeOp layer,
                                        ScheduleAttr schedule) {
  ReductionMethod method = schedule.getReduction();
  if (method == ReductionMethod::Separate)
    return "";
  StringRef name = stringifyReductionMethod(method);
  auto fail = [&](const Twine &reason) {
    return ("reduction = " + name + ": " + reason).str();
  };
  constexpr StringLiteral leaveOut = "; leave reduction out";
  if (method == ReductionMethod::InTile) { // schedule-R10
    std::string problem = findInTileProblem(layer, schedule);
    return problem.empty() ? "" : fail(problem);
  }
  if (method == ReductionMethod::ReduceOnly) { // schedule-R11
    std::string problem = findReduceOnlyProblem(layer, schedule);
    return problem.empty() ? "" : fail(problem);
  }
  if (method == ReductionMethod::ResidentRows) { // schedule-R13
    std::string problem = findResidentRowsProblem(layer, schedule);
    return problem.empty() ? "" : fail(problem);
  }
  // schedule-R4
  auto op = dyn_cast<FusedLinearOp>(layer.getOperation());
  if (!op)
    return fail("the layer has no training batch norm" + leaveOut);
  auto reductions = op.getBody()->getOps<ReductionEpilogueOp>();
  if (reductions.empty())
    return fail("the layer has no training batch norm" + leaveOut);
  if (!llvm::hasSingleElement(reductions) &&
      !llvm::all_of(reductions, llvm::IsaPred<BatchSumOp>))
    return fail("the layer has several reductions, and not all are sums" +
                leaveOut);
  ReductionEpilogueOp reduction = *reductions.begin();
  auto norm = dyn_cast<BatchNormTrainingOp>(reduction.getOperation());
  if (!norm && method != ReductionMethod::TwoPhase)
    return fail(formatv("'{0}' normalises nothing; write reduction = two_phase",
                        reduction->getName().getStringRef()));
  for (ReductionEpilogueOp each : reductions) {
    auto input = cast<RankedTensorType>(each.getReducedInput().getType());
    if (input.getElementType().isF64() ||
        input.getShape() !=
            cast<RankedTensorType>(op.getAccumulator().getType()).getShape())
      return fail(formatv("'{0}' is of {1}, not of the product in 16 or 32 "
                          "bits",
                          each->getName().getStringRef(), input) +
                  leaveOut);
    std::string problem = findCrossing(op, each, method);
    if (!problem.empty())
      return fail(problem + leaveOut);
  }
  std::string problem;
  if (method == ReductionMethod::InputMoments) {
    problem = findInputMomentsProblem(op, norm);
    return problem.empty() ? "" : fail(problem);
  }
  if (method == ReductionMethod::Resident)
    problem = findResidentProblem(op, schedule, norm);
  if (problem.empty())
    problem = ScheduleFamily::of(schedule).findMomentsProblem(op, schedule);
  return problem.empty() ? "" : fail(problem);
}
