//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of measured schedules, and what comes before what is predicted.
//
//===----------------------------------------------------------------------===//

#include "Schedule/Wgmma/WgmmaChoice.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::tenon;

namespace {
class TunedSchedulesTest : public testing::Test {
protected:
  TunedSchedulesTest() { context.loadDialect<TenonDialect>(); }

  Type getType(TunedSchedule::InputType type) {
    // Split products are of f16 halves.
    if (type == TunedSchedule::F16 || type == TunedSchedule::TF32ByFP16 ||
        type == TunedSchedule::FP32)
      return Float16Type::get(&context);
    if (type == TunedSchedule::BF16)
      return BFloat16Type::get(&context);
    return Float32Type::get(&context);
  }

  /// A layer of bf16 with as many rows as columns.
  LayerProblem getProblem(int64_t m, bool hasDynamicRows = false) {
    LayerProblem problem;
    problem.m = m;
    problem.n = problem.k = 4096;
    problem.hasDynamicRows = hasDynamicRows;
    problem.libraryType = problem.tiledType = getType(TunedSchedule::BF16);
    problem.epilogueBytes = static_cast<double>(2 * m * 4096);
    problem.productBytes = problem.epilogueBytes;
    problem.matrixBytes = {2};
    return problem;
  }

  ScheduleChoice choose(const LayerProblem &problem,
                        ArrayRef<TunedSchedule> table) {
    return *chooseWgmma(problem, {target}, table);
  }

  MLIRContext context;
  const TargetSpec *target = lookupTarget("sm_90a");
};

constexpr llvm::StringLiteral
    kSlow("wgmma, tile = 64x8x64, warps = 4x1, stages = 2, swizzle = 128, "
          "raster = 1, blocks = 1");
constexpr llvm::StringLiteral
    kFast("wgmma, tile = 256x128x64, warps = 1x8, stages = 3, swizzle = 128, "
          "raster = 16, blocks = 1, stream_k = true, cluster = 1x2");

constexpr llvm::StringLiteral
    kHalves("wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, "
            "raster = 8, blocks = 1, method = fp16");
constexpr llvm::StringLiteral
    kDirectHalves("wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle "
                  "= 128, raster = 8, blocks = 1");
constexpr llvm::StringLiteral
    kDirect("wgmma, tile = 128x128x32, warps = 8x1, stages = 4, swizzle = 128, "
            "raster = 8, blocks = 1");

constexpr llvm::StringLiteral
    kSwapped("wgmma, tile = 16x128x64, warps = 1x4, stages = 10, swizzle = "
             "128, raster = 8, blocks = 1, stream_k = true");

constexpr TunedSchedule getLine(int64_t m, llvm::StringLiteral schedule) {
  return {TunedSchedule::BF16, m, 4096, 4096, EpilogueClass::Light, schedule};
}
} // namespace

/// Every line of the committed table can run, and is the only one of its layer.
TEST_F(TunedSchedulesTest, CommittedTable) {
  ArrayRef<TunedSchedule> table = getWgmmaTunedSchedules();
  for (const TunedSchedule &line : table) {
    SCOPED_TRACE(line.schedule.str());
    ScheduleAttr schedule = line.parse(&context);
    ASSERT_TRUE(schedule);
    EXPECT_EQ(schedule.getFamily(), KernelFamily::Wgmma);
    bool isSplit = line.type == TunedSchedule::FP32;
    Type type = getType(line.type);
    EXPECT_EQ(findProblem(schedule, type, *target), "");
    EXPECT_EQ(schedule.getMethod(), isSplit ? ProductMethod::FP16x3
                                    : line.type == TunedSchedule::TF32ByFP16
                                        ? ProductMethod::FP16
                                        : ProductMethod::Direct);
    if (!isSplit)
      EXPECT_EQ(findExtentProblem(KernelFamily::Wgmma, type, line.k), "");
    EXPECT_EQ(
        findTuned(table, line.type, line.m, line.n, line.k, line.epilogue),
        &line)
        << "an earlier line is for the same layer";
  }
}

TEST_F(TunedSchedulesTest, Lookup) {
  const TunedSchedule table[] = {
      getLine(1000, kFast),
      getLine(1250, kFast),
      {TunedSchedule::BF16, 1000, 4096, 4096, EpilogueClass::Heavy, kFast},
      {TunedSchedule::TF32, 1000, 4096, 4096, EpilogueClass::Light, kFast},
      {TunedSchedule::BF16, 1000, 2048, 4096, EpilogueClass::Light, kFast},
      {TunedSchedule::BF16, 1000, 4096, 2048, EpilogueClass::Light, kFast},
  };
  auto find = [&](TunedSchedule::InputType type, int64_t m, int64_t n,
                  int64_t k, EpilogueClass epilogue) -> ptrdiff_t {
    const TunedSchedule *line = findTuned(table, type, m, n, k, epilogue);
    return line ? line - table : -1;
  };
  EpilogueClass light = EpilogueClass::Light, heavy = EpilogueClass::Heavy;
  EXPECT_EQ(find(TunedSchedule::BF16, 1000, 4096, 4096, light), 0);
  EXPECT_EQ(find(TunedSchedule::BF16, 1000, 4096, 4096, heavy), 2);
  EXPECT_EQ(find(TunedSchedule::TF32, 1000, 4096, 4096, light), 3);
  EXPECT_EQ(find(TunedSchedule::F16, 1000, 4096, 4096, light), -1);
  EXPECT_EQ(find(TunedSchedule::FP32, 1000, 4096, 4096, light), -1);
  EXPECT_EQ(find(TunedSchedule::BF16, 1000, 2048, 4096, light), 4);
  EXPECT_EQ(find(TunedSchedule::BF16, 1000, 4096, 2048, light), 5);
  EXPECT_EQ(find(TunedSchedule::BF16, 1000, 2048, 2048, light), -1);
  // The nearest M in ratio, at most a quarter away.
  EXPECT_EQ(find(TunedSchedule::BF16, 800, 4096, 4096, light), 0);
  EXPECT_EQ(find(TunedSchedule::BF16, 799, 4096, 4096, light), -1);
  EXPECT_EQ(find(TunedSchedule::BF16, 1118, 4096, 4096, light), 0);
  EXPECT_EQ(find(TunedSchedule::BF16, 1119, 4096, 4096, light), 1);
  EXPECT_EQ(find(TunedSchedule::BF16, 1562, 4096, 4096, light), 1);
  EXPECT_EQ(find(TunedSchedule::BF16, 1563, 4096, 4096, light), -1);
}

/// Of two lines that are as near the earlier one counts.
TEST_F(TunedSchedulesTest, Ties) {
  const TunedSchedule table[] = {getLine(900, kFast), getLine(900, kSlow)};
  EXPECT_EQ(findTuned(table, TunedSchedule::BF16, 1000, 4096, 4096,
                      EpilogueClass::Light),
            table);
}

/// What was measured for the layer outranks what is predicted.
TEST_F(TunedSchedulesTest, MeasuredFirst) {
  ScheduleChoice predicted = choose(getProblem(4096), {});
  EXPECT_FALSE(predicted.isTuned);
  TunedSchedule line = getLine(4096, kSlow);
  ScheduleChoice tuned = choose(getProblem(4096), line);
  EXPECT_TRUE(tuned.isTuned);
  EXPECT_EQ(tuned.schedule, line.parse(&context));
  EXPECT_GT(tuned.getWorstRatio(), predicted.getWorstRatio());
}

/// What was measured for another M counts where it is not predicted slower.
TEST_F(TunedSchedulesTest, MeasuredNearby) {
  EXPECT_TRUE(choose(getProblem(4096), getLine(4200, kFast)).isTuned);
  EXPECT_FALSE(choose(getProblem(4096), getLine(4200, kSlow)).isTuned);
}

/// A schedule with swapped operands is taken from the table before the one that
/// is predicted, but for what it cannot do.
TEST_F(TunedSchedulesTest, SwappedOperands) {
  TunedSchedule line = getLine(16, kSwapped);
  EXPECT_NE(choose(getProblem(16), {}).schedule, line.parse(&context));
  ScheduleChoice tuned = choose(getProblem(16), line);
  EXPECT_TRUE(tuned.isTuned);
  EXPECT_EQ(tuned.schedule, line.parse(&context));
  LayerProblem reduced = getProblem(16);
  reduced.hasNorm = true;
  reduced.reduction = ReductionMethod::TwoPhase;
  EXPECT_FALSE(choose(reduced, line).isTuned);
}

/// Lines of tf32 are of one method; those of f16 serve method fp16 too.
TEST_F(TunedSchedulesTest, MethodOfTF32) {
  auto getTyped = [](TunedSchedule::InputType type, StringLiteral schedule) {
    TunedSchedule line = getLine(4096, schedule);
    line.type = type;
    return line;
  };
  const TunedSchedule halves = getTyped(TunedSchedule::TF32ByFP16, kHalves),
                      direct = getTyped(TunedSchedule::TF32, kDirect),
                      ofF16 = getTyped(TunedSchedule::F16, kSlow);
  LayerProblem problem = getProblem(4096);
  problem.libraryType = getType(TunedSchedule::TF32);
  problem.tiledType = getType(TunedSchedule::F16);
  problem.method = ProductMethod::FP16;
  auto isTunedBy = [&](const TunedSchedule &line,
                       ArrayRef<TunedSchedule> table) {
    ScheduleChoice choice = choose(problem, table);
    return choice.isTuned &&
           choice.schedule == line.parse(&context).withMethod(problem.method);
  };
  EXPECT_TRUE(isTunedBy(halves, {ofF16, direct, halves}));
  EXPECT_TRUE(isTunedBy(ofF16, {direct, ofF16}));
  problem.method = ProductMethod::Direct;
  problem.tiledType = getType(TunedSchedule::TF32);
  EXPECT_TRUE(isTunedBy(direct, {ofF16, halves, direct}));
  EXPECT_FALSE(choose(problem, {halves, ofF16}).isTuned);
}

/// Of batch norm in the kernel a tile is held where that hides exchanges often:
/// a line says nothing of it.
TEST_F(TunedSchedulesTest, HeldTiles) {
  LayerProblem problem = getProblem(16384);
  problem.hasNorm = true;
  problem.reduction = ReductionMethod::Resident;
  EXPECT_TRUE(choose(problem, {}).schedule.getDefer());
  const TunedSchedule line = getLine(
      16384, "wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = "
             "128, raster = 8, blocks = 1, cluster = 2x1");
  EXPECT_TRUE(choose(problem, line).schedule.getDefer());
  const TunedSchedule deferred = getLine(
      1024, "wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = "
            "128, raster = 8, blocks = 1, cluster = 2x1, defer = true");
  LayerProblem small = problem;
  small.m = 1024;
  EXPECT_TRUE(choose(small, deferred).isTuned);
  EXPECT_FALSE(choose(small, deferred).schedule.getDefer());
  for (auto change :
       {+[](LayerProblem &p) { p.m = 1024; },
        +[](LayerProblem &p) { p.k = 1024; },
        +[](LayerProblem &p) { p.matrixBytes = {4}; },
        +[](LayerProblem &p) { p.epilogue = EpilogueClass::Heavy; },
        +[](LayerProblem &p) { p.hasDynamicRows = true; }}) {
    LayerProblem changed = problem;
    change(changed);
    EXPECT_FALSE(choose(changed, {}).schedule.getDefer());
  }
  problem.reduction = ReductionMethod::TwoPhase;
  EXPECT_FALSE(choose(problem, {}).schedule.getDefer());
}

/// Lines of heavy epilogues serve layers whose kernels give moments.
TEST_F(TunedSchedulesTest, Moments) {
  LayerProblem problem = getProblem(4096);
  problem.hasNorm = true;
  problem.reduction = ReductionMethod::TwoPhase;
  TunedSchedule line = getLine(4096, kDirectHalves);
  EXPECT_TRUE(choose(problem, line).isTuned);
  TunedSchedule heavy = getLine(4096, kFast);
  heavy.epilogue = EpilogueClass::Heavy;
  EXPECT_EQ(choose(problem, {line, heavy}).schedule,
            heavy.parse(&context).withReduction(problem.reduction));
}

/// A schedule for one M may be bad for another.
TEST_F(TunedSchedulesTest, DynamicRows) {
  ScheduleChoice choice =
      choose(getProblem(4096, /*hasDynamicRows=*/true), getLine(4096, kFast));
  EXPECT_FALSE(choice.isTuned);
  EXPECT_TRUE(choice.schedule.getStreamK());
}

/// Whatever is predicted best can run.
TEST_F(TunedSchedulesTest, PredictedRuns) {
  for (TunedSchedule::InputType type :
       {TunedSchedule::BF16, TunedSchedule::TF32})
    for (EpilogueClass epilogue : {EpilogueClass::Light, EpilogueClass::Heavy})
      for (int64_t m : {1, 63, 129, 1024, 16384, 1 << 30})
        for (int64_t n : {1, 8, 264, 4096, 1 << 30}) {
          LayerProblem problem = getProblem(m);
          problem.n = n;
          problem.libraryType = problem.tiledType = getType(type);
          problem.epilogue = epilogue;
          ScheduleChoice choice = choose(problem, {});
          EXPECT_EQ(findProblem(choice.schedule, problem.tiledType, *target),
                    "");
        }
}
