//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What there is to know of a layer: whether it can be tiled, what it moves.
//
//===----------------------------------------------------------------------===//

#include "Layer.h"

#include "FitOperands.h"

#include "tenon/Schedule/Checks/EpilogueObstacle.h"
#include "tenon/Schedule/Checks/ProductMethod.h"
#include "tenon/Schedule/Checks/ReductionMethod.h"
#include "tenon/Schedule/Checks/RowParts.h"
#include "tenon/Schedule/Checks/Schedule.h"

#include "tenon/Dialect/Tenon/Analysis/EpiloguePlan.h"
#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::tenon;

SmallVector<ProductMethod> tenon::listMethods(LinearLikeOp layer) {
  auto isPrecise = [&](ProductMethod method) {
    return findPrecisionProblem(method, layer.getInputType(),
                                layer.getPrecision(), layer.getK())
        .empty();
  };
  SmallVector<ProductMethod> methods;
  for (unsigned i = 0; i <= getMaxEnumValForProductMethod(); ++i)
    if (auto method = static_cast<ProductMethod>(i);
        getTraits(method).isFp32 == layer.isFp32() && isPrecise(method))
      methods.push_back(method);
  // Of those that are as precise as fp32, one on tensor cores is the fastest.
  if (layer.isFp32()) {
    llvm::stable_sort(methods, [](ProductMethod a, ProductMethod b) {
      return getTraits(a).usesTensorCores > getTraits(b).usesTensorCores;
    });
    methods.truncate(1);
  }
  return methods;
}

Type tenon::getTiledInputType(LinearLikeOp layer, ProductMethod method) {
  MLIRContext *context = layer->getContext();
  if (method == ProductMethod::FP8)
    return getMultipliedType(layer, method);
  if (layer.getPrecision() == Precision::BF16)
    return BFloat16Type::get(context);
  if (layer.getPrecision() == Precision::FP16 || getTraits(method).isSplit())
    return Float16Type::get(context);
  return layer.getInputType();
}

/// Elements of K and N that come together where cuBLASLt multiplies bytes.
static constexpr int64_t kLibraryByteMultiple = 16;

Type tenon::getLibraryInputType(LinearLikeOp layer) {
  Type type = layer.getInputType();
  if (!isNarrowFloat(type))
    return type;
  bool isMultiplied =
      isa<Float8E4M3FNType>(type) && layer.getK() % kLibraryByteMultiple == 0 &&
      layer.getExtents().n % kLibraryByteMultiple == 0 &&
      layer.getLayout().value_or(OperandLayout::MK_NK) == OperandLayout::MK_NK;
  return isMultiplied ? type : Float16Type::get(layer.getContext());
}

//===----------------------------------------------------------------------===//
// Obstacles
//===----------------------------------------------------------------------===//

bool tenon::hasBatchNorm(LinearLikeOp layer) {
  Block *body = layer.getEpilogueBody();
  return body && !body->getOps<ReductionEpilogueOp>().empty();
}

bool tenon::sumsBatch(LinearLikeOp layer) {
  Block *body = layer.getEpilogueBody();
  return body && !body->getOps<BatchSumOp>().empty();
}

bool tenon::reducesRows(LinearLikeOp layer) {
  Block *body = layer.getEpilogueBody();
  return body && !body->getOps<ReduceRowOp>().empty();
}

std::optional<Reason> tenon::findTiledObstacle(LinearLikeOp layer,
                                               ProductMethod method,
                                               ReductionMethod reduction) {
  if (layer.getInputType().isF64())
    return Reason(ReasonCode::NoKernelOfF64);
  if (auto problem = findLayoutProblem(method, getTiledInputType(layer, method),
                                       layer.getLayout()))
    return problem;
  for (int64_t extent : {layer.getProductType().getDimSize(0),
                         layer.getProductType().getDimSize(1), layer.getK()})
    if (extent > kMaxExtent)
      return Reason(ReasonCode::LargeExtent, extent);
  if (reduction != ReductionMethod::Separate)
    if (std::optional<Reason> tooLong = findLengthObstacle(layer))
      return tooLong;
  // A bare product pays where the library's is slower.
  return method == ProductMethod::Direct &&
                 reduction == ReductionMethod::Separate
             ? findEpilogueObstacle(layer)
             : std::nullopt;
}

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

static double getBytes(RankedTensorType type) {
  double bytes = type.getElementTypeBitWidth() / 8;
  for (int64_t extent : type.getShape())
    bytes *= ShapedType::isDynamic(extent) ? kAssumedRows : extent;
  return bytes;
}

static bool hasHeavyOps(LinearLikeOp layer) {
  Block *body = layer.getEpilogueBody();
  return body && llvm::any_of(*body, [](Operation &op) {
           return op.hasTrait<OpTrait::tenon::Transcendental>();
         });
}

/// Those that a tile computes of each element where its rows are resident: a
/// reduced exp, relative to the tile's own maximum, again where it is read.
static int64_t countHeavyOps(LinearLikeOp layer) {
  int64_t count = 0;
  for (Operation &op : *layer.getEpilogueBody()) {
    if (!op.hasTrait<OpTrait::tenon::Transcendental>() ||
        cast<RankedTensorType>(op.getResult(0).getType()).getShape() !=
            layer.getProductType().getShape())
      continue;
    bool isReduced = llvm::any_of(op.getUsers(), llvm::IsaPred<ReduceRowOp>);
    bool isRead = !llvm::all_of(op.getUsers(), llvm::IsaPred<ReduceRowOp>);
    count += isa<ExpOp>(op) && isReduced && isRead ? 2 : 1;
  }
  return count;
}

EpilogueClass tenon::classifyEpilogue(LinearLikeOp layer) {
  auto isProduct = [&](Value operand) {
    return cast<RankedTensorType>(operand.getType()).getShape() ==
           layer.getProductType().getShape();
  };
  bool isHeavy =
      llvm::any_of(layer.getEpilogueInputs(), isProduct) || hasHeavyOps(layer);
  return isHeavy ? EpilogueClass::Heavy : EpilogueClass::Light;
}

/// What cuBLASLt computes of an epilogue beside the product, roughly: in which
/// order is left out here.
static bool canLibraryDo(Operation &op, RankedTensorType product) {
  if (isa<YieldOp>(op))
    return true;
  auto elementwise = dyn_cast<ElementwiseEpilogueOp>(op);
  if (!elementwise)
    return false;
  LibraryPart part = elementwise.getLibraryPart();
  return part == LibraryPart::Addend ? op.getResult(0).getType() == product
                                     : part != LibraryPart::None;
}

static bool canLibraryDoAll(LinearLikeOp layer) {
  if (auto linear = dyn_cast<LinearOp>(layer.getOperation()))
    return !linear.getBias() || linear.getBias().getType().getElementType() ==
                                    layer.getProductType().getElementType();
  return layer->getNumResults() == 1 &&
         llvm::all_of(*layer.getEpilogueBody(), [&](Operation &op) {
           return canLibraryDo(op, layer.getProductType());
         });
}

/// Whether the library's own epilogue does more than scale and add.
static bool hasActivation(LinearLikeOp layer) {
  Block *body = layer.getEpilogueBody();
  return body && llvm::any_of(*body, [](Operation &op) {
           auto elementwise = dyn_cast<ElementwiseEpilogueOp>(op);
           return elementwise &&
                  llvm::is_contained({LibraryPart::Relu, LibraryPart::GeluTanh},
                                     elementwise.getLibraryPart());
         });
}

static bool isParameter(BlockArgument argument) {
  auto function =
      dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function && argument.getOwner()->isEntryBlock() &&
         (function.getArgAttr(argument.getArgNumber(),
                              TenonDialect::kParamAttr) ||
          function.getArgAttr(argument.getArgNumber(),
                              TenonDialect::kPreparedAttr));
}

/// Whether `value` depends on parameters alone: then what is made of it is
/// computed once a version of them.
static bool dependsOnParameters(Value value) {
  SmallVector<Value> worklist{value};
  SmallPtrSet<Value, 8> seen;
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (Operation *producer = next.getDefiningOp())
      llvm::append_range(worklist, producer->getOperands());
    else if (!isParameter(cast<BlockArgument>(next)))
      return false;
  }
  return true;
}

/// Bytes that each call reads and writes to make `operand` fit the kernel. What
/// a layer computes is rounded or cast in its epilogue, but not split.
static double getFitBytes(Value operand, bool transposed, LinearLikeOp layer,
                          ProductMethod method) {
  bool isSplit = getTraits(method).isSplit();
  if (!getTraits(method).usesTensorCores || method == ProductMethod::FP8 ||
      findFitting(operand, transposed, layer, method) ||
      dependsOnParameters(operand) ||
      (!isSplit && operand.getDefiningOp<LinearLikeOp>()))
    return 0;
  auto type = cast<RankedTensorType>(operand.getType());
  double written = getBytes(type.clone(getTiledInputType(layer, method)));
  double reads = transposed ? 2 : 1; // for the scales, then for the parts
  return reads * getBytes(type) + getTraits(method).getNumParts() * written;
}

/// Bytes of what is reduced, and stored for that.
static double getReducedBytes(LinearLikeOp layer) {
  Value stored = getStored(cast<FusedLinearOp>(layer.getOperation()));
  return getBytes(cast<RankedTensorType>(stored.getType()));
}

/// Whether a kernel with sums over the batch leaves nothing else to the next
/// one: of what has rows, the layer returns what is stored.
static bool leavesSumsAlone(FusedLinearOp layer) {
  Value stored = getStored(layer);
  return llvm::all_of(layer.getBody()->getOps<ReductionEpilogueOp>(),
                      llvm::IsaPred<BatchSumOp>) &&
         llvm::all_of(layer.getYield().getValues(), [&](Value value) {
           return value == stored ||
                  !EpiloguePlan::variesByRow(value.getType());
         });
}

/// Bytes of an element of each [M, N] tensor that a tiled kernel's epilogue
/// reads or writes: those of all of the layer's, or what it leaves to other
/// kernels.
static SmallVector<int64_t> getMatrixBytes(LinearLikeOp layer,
                                           const LayerProblem &problem) {
  auto getElementBytes = [](Type type) -> int64_t {
    return cast<RankedTensorType>(type).getElementTypeBitWidth() / 8;
  };
  if (!problem.tiledDoesAll) {
    bool givesMoments = problem.reduction == ReductionMethod::TwoPhase;
    double bytes = givesMoments ? problem.reducedBytes : problem.productBytes;
    auto elements = static_cast<double>(problem.m * problem.n);
    return {static_cast<int64_t>(bytes / elements)};
  }
  SmallVector<int64_t> bytes;
  auto add = [&](Type type) {
    if (cast<RankedTensorType>(type).getShape() ==
        layer.getProductType().getShape())
      bytes.push_back(getElementBytes(type));
  };
  llvm::for_each(layer.getEpilogueInputs().getTypes(), add);
  llvm::for_each(layer->getResultTypes(), add);
  return bytes;
}

LayerProblem tenon::describeProblem(LinearLikeOp layer, ProductMethod method,
                                    ReductionMethod reduction) {
  ProductExtents extents = layer.getExtents();
  std::optional<OperandLayout> layout = layer.getLayout();
  LayerProblem problem;
  problem.hasDynamicRows = ShapedType::isDynamic(extents.m);
  problem.m = problem.hasDynamicRows ? kAssumedRows : extents.m;
  problem.n = extents.n;
  problem.layout = layout.value_or(OperandLayout::MK_NK);
  problem.k = extents.k;
  problem.libraryType = getLibraryInputType(layer);
  problem.tiledType = getTiledInputType(layer, method);
  problem.isFp32 = layer.isFp32();
  problem.method = method;
  problem.hasBlockScales =
      method == ProductMethod::FP8 && findScaledOperands(layer);
  problem.productBytes = getBytes(layer.getProductType());
  for (Value operand : layer.getEpilogueInputs()) {
    auto type = cast<RankedTensorType>(operand.getType());
    problem.epilogueBytes += getBytes(type);
    problem.hasRowValues |=
        EpiloguePlan::variesByRow(type) && !EpiloguePlan::variesByColumn(type);
  }
  for (Type type : layer->getResultTypes())
    problem.epilogueBytes += getBytes(cast<RankedTensorType>(type));
  problem.libraryDoesAll = canLibraryDoAll(layer);
  problem.libraryActivates = problem.libraryDoesAll && hasActivation(layer);
  problem.hasNorm = hasBatchNorm(layer);
  problem.reduction = reduction;
  if (problem.hasNorm) {
    auto fused = cast<FusedLinearOp>(layer.getOperation());
    problem.reducedBytes = getReducedBytes(layer);
    problem.reducesRowOperand = reducesRowOperand(fused);
    problem.givesSums =
        reduction == ReductionMethod::TwoPhase && leavesSumsAlone(fused);
  }
  if (Block *body = layer.getEpilogueBody()) {
    auto rows = body->getOps<ReduceRowOp>();
    problem.numRowReductions = std::distance(rows.begin(), rows.end());
    if (problem.numRowReductions != 0)
      problem.reducedColumns = getReducedColumns(layer);
    if (reduction == ReductionMethod::ResidentRows)
      problem.heavyOpsOfRows = std::max<int64_t>(1, countHeavyOps(layer));
  }
  problem.tiledDoesAll = reduction == ReductionMethod::Resident ||
                         reduction == ReductionMethod::InputMoments ||
                         reduction == ReductionMethod::InTile ||
                         reduction == ReductionMethod::ReduceOnly ||
                         reduction == ReductionMethod::ResidentRows ||
                         problem.givesSums || !findEpilogueObstacle(layer);
  if (problem.tiledDoesAll)
    problem.epilogue = classifyEpilogue(layer);
  problem.matrixBytes = getMatrixBytes(layer, problem);
  problem.fitBytes =
      getFitBytes(layer.getX(), isXTransposed(layout), layer, method) +
      getFitBytes(layer.getW(), isWTransposed(layout), layer, method);
  return problem;
}

/// What is multiplied counts twice, and what passes between the layers not at
/// all.
LayerProblem tenon::describePair(const LayerPair &pair, ProductMethod method) {
  LinearLikeOp layer = FusedLinearOp(pair.layer), gate = pair.gate;
  LayerProblem problem =
      describeProblem(layer, method, ReductionMethod::Separate);
  LayerProblem ofGate =
      describeProblem(gate, method, ReductionMethod::Separate);
  problem.weights = 2;
  problem.productBytes += ofGate.productBytes;
  problem.hasRowValues |= ofGate.hasRowValues;
  problem.epilogueBytes += ofGate.epilogueBytes;
  problem.libraryDoesAll = problem.libraryActivates = false;
  llvm::append_range(problem.matrixBytes, ofGate.matrixBytes);
  for (RankedTensorType type : pair.getSavedTypes()) {
    problem.epilogueBytes -= getBytes(type);
    problem.matrixBytes.erase(llvm::find(
        problem.matrixBytes, int64_t(type.getElementTypeBitWidth() / 8)));
  }
  size_t results = layer->getNumResults() + pair.getKeptResults().size();
  bool isHeavy = problem.matrixBytes.size() != results || hasHeavyOps(layer) ||
                 hasHeavyOps(gate);
  problem.epilogue = isHeavy ? EpilogueClass::Heavy : EpilogueClass::Light;
  problem.fitBytes +=
      getFitBytes(gate.getW(), /*transposed=*/false, gate, method);
  return problem;
}

/// K tiles of all are multiplied one after the other, and what is added to a
/// product is neither written nor read.
LayerProblem tenon::describeSum(const LayerSum &sum, ProductMethod method) {
  LinearLikeOp last = sum.getLast();
  LayerProblem problem =
      describeProblem(last, method, ReductionMethod::Separate);
  int64_t columns = 1024 / problem.tiledType.getIntOrFloatBitWidth();
  problem.longestK = problem.k;
  problem.k = llvm::alignTo(problem.k, columns);
  problem.libraryDoesAll = problem.libraryActivates = false;
  for (LinearLikeOp layer : ArrayRef(sum.layers).drop_back()) {
    LayerProblem of = describeProblem(layer, method, ReductionMethod::Separate);
    problem.longestK = std::max(problem.longestK, of.k);
    problem.k += llvm::alignTo(of.k, columns);
    problem.hasRowValues |= of.hasRowValues;
    problem.epilogueBytes += of.epilogueBytes;
    llvm::append_range(problem.matrixBytes, of.matrixBytes);
    problem.fitBytes += of.fitBytes;
  }
  for (RankedTensorType type : sum.getSavedTypes()) {
    problem.epilogueBytes -= getBytes(type);
    problem.matrixBytes.erase(llvm::find(
        problem.matrixBytes, int64_t(type.getElementTypeBitWidth() / 8)));
  }
  bool isHeavy =
      problem.matrixBytes.size() != last->getNumResults() || hasHeavyOps(last);
  problem.epilogue = isHeavy ? EpilogueClass::Heavy : EpilogueClass::Light;
  return problem;
}

LayerProblem tenon::describeSiblings(ArrayRef<LinearLikeOp> layers,
                                     ProductMethod method) {
  LayerProblem all =
      describeProblem(layers[0], method, ReductionMethod::Separate);
  all.siblings = static_cast<int64_t>(layers.size());
  for (LinearLikeOp layer : layers.drop_front()) {
    LayerProblem next =
        describeProblem(layer, method, ReductionMethod::Separate);
    all.n += next.n;
    all.productBytes += next.productBytes;
    all.hasRowValues |= next.hasRowValues;
    all.epilogueBytes += next.epilogueBytes;
    all.libraryDoesAll &= next.libraryDoesAll;
    all.libraryActivates &= next.libraryActivates;
    // Those of the longest epilogue, as if all had it.
    if (next.matrixBytes.size() > all.matrixBytes.size())
      all.matrixBytes = next.matrixBytes;
    if (next.epilogue == EpilogueClass::Heavy)
      all.epilogue = EpilogueClass::Heavy;
    all.fitBytes +=
        getFitBytes(layer.getW(), /*transposed=*/false, layer, method);
  }
  return all;
}
