//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each method of multiplying gives and asks.
//
//===----------------------------------------------------------------------===//

#include "Schedule/Strategy/Heuristics.h"

#include "tenon/Dialect/Tenon/IR/EpilogueLimits.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;
using llvm::formatv;

/// With fewer products, what a split leaves out of each shows in their sum: all
/// rows would be outside of what tenon.split holds.
static constexpr int64_t kMinFp32SplitColumns = 64;

unsigned tenon::getSplitParts(ProductMethod method) {
  if (method == ProductMethod::FP16x3)
    return 2;
  return method == ProductMethod::FP16 ? 1 : 0;
}

std::string tenon::findPrecisionProblem(ProductMethod method, Type elementType,
                                        std::optional<Precision> precision,
                                        int64_t k) {
  StringRef name = stringifyProductMethod(method);
  Precision asked = precision.value_or(Precision::FP32);
  bool multipliesF32 = elementType.isF32() &&
                       (asked == Precision::FP32 || asked == Precision::TF32);
  if (!multipliesF32) {
    if (method == ProductMethod::Direct)
      return "";
    if (elementType.isF32())
      return formatv("method {0} multiplies f32, but for precision {1} x and w "
                     "are cast to 16 bits; leave method out",
                     name, stringifyPrecision(asked));
    return formatv("method {0} multiplies f32, but x and w are {1}; leave "
                   "method out",
                   name, elementType);
  }
  if (asked == Precision::FP32 &&
      (method == ProductMethod::Direct || method == ProductMethod::FP16))
    return formatv("method {0} is as accurate as tf32, less than precision "
                   "fp32 asks; write method = fp16x3 or method = fma, or "
                   "precision<tf32> on the layer",
                   name);
  if (asked == Precision::FP32 && method == ProductMethod::FP16x3 &&
      k < kMinFp32SplitColumns)
    return formatv("method fp16x3 is as accurate as precision fp32 asks from K "
                   "= {0} on, but K is {1}; write method = fma",
                   kMinFp32SplitColumns, k);
  if (getSplitParts(method) != 0 && k > SplitOp::kMaxColumns)
    return formatv("tenon.split takes at most {0} columns, but K is {1}; write "
                   "method = fma",
                   SplitOp::kMaxColumns, k);
  return "";
}

std::optional<Reason> tenon::findLengthObstacle(LinearLikeOp op) {
  Block *body = op.getEpilogueBody();
  if (!body)
    return std::nullopt;
  auto isMatrix = [](Type type) {
    return cast<RankedTensorType>(type).getRank() == 2;
  };
  auto isTranscendental = [](Operation &inner) {
    return inner.hasTrait<OpTrait::tenon::Transcendental>();
  };
  size_t matrices =
      llvm::count_if(op.getEpilogueInputs().getTypes(), isMatrix) +
      llvm::count_if(op->getResultTypes(), isMatrix);
  if (matrices <= kMaxTiledOperands &&
      llvm::count_if(*body, isTranscendental) <= kMaxTiledHeavyOps)
    return std::nullopt;
  return Reason(ReasonCode::LongEpilogue, kMaxTiledOperands, kMaxTiledHeavyOps);
}

std::optional<Reason> tenon::findEpilogueObstacle(LinearLikeOp op) {
  Block *body = op.getEpilogueBody();
  if (!body)
    return std::nullopt;
  if (std::optional<Reason> tooLong = findLengthObstacle(op))
    return tooLong;
  auto reductions =
      llvm::make_filter_range(*body, llvm::IsaPred<ReductionEpilogueOp>);
  if (!reductions.empty()) {
    bool isOne = std::next(reductions.begin()) == reductions.end();
    return Reason(isOne ? ReasonCode::NeedsAllRows
                        : ReasonCode::NeedsAllRowsTwice,
                  (*reductions.begin()).getName().getStringRef());
  }
  for (auto [index, type] : llvm::enumerate(op->getResultTypes()))
    if (cast<RankedTensorType>(type).getShape() !=
        op.getProductType().getShape())
      return Reason(ReasonCode::OtherResultShape, index);
  return std::nullopt;
}

/// A warp has 32 rows of 32 columns. With more than four of them along M the
/// block could not copy 64 columns of w at once: then it has more rows.
SmallVector<int64_t> tenon::getNarrowTileWarps(int64_t rows) {
  int64_t warps = 1;
  while (warps < 4 && rows / warps > 32 && rows % (32 * warps) == 0)
    warps *= 2;
  return {warps, 2};
}

ScheduleAttr tenon::getGuardSchedule(MLIRContext *context, Precision precision,
                                     int64_t m, ReductionMethod reduction,
                                     int64_t rows) {
  bool dependsOnRows = reduction == ReductionMethod::TwoPhase ||
                       reduction == ReductionMethod::Resident;
  if (!dependsOnRows)
    rows = !ShapedType::isDynamic(m) && m <= 64 ? 64 : 128;
  return ScheduleAttr::get(
      context, KernelFamily::MmaSync, /*tile=*/{rows, kNarrowTileColumns, 32},
      getNarrowTileWarps(rows), /*stages=*/rows <= 64 ? 4 : 3,
      /*swizzle=*/128, /*raster=*/16, /*blocks=*/1, /*streamK=*/false,
      /*cluster=*/{}, /*pingPong=*/false, /*defer=*/false,
      precision == Precision::FP32 ? ProductMethod::FMA : ProductMethod::Direct,
      dependsOnRows ? reduction : ReductionMethod::Separate);
}
