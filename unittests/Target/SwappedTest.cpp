//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of family wgmma for few rows: with swapped operands or without.
//
//===----------------------------------------------------------------------===//

#include "LightProblem.h"

#include "ScheduleParser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::tenon;

namespace {
class SwappedTest : public testing::Test {
protected:
  LayerProblem getProblem(int64_t m, int64_t n, int64_t k) {
    return getLightProblem(BFloat16Type::get(&parser.context), m, n, k);
  }

  ScheduleAttr choose(const LayerProblem &problem) {
    return chooseWgmma(problem, {target}, /*table=*/{})->schedule;
  }

  /// Microseconds.
  double predict(const LayerProblem &problem, StringRef schedule) {
    return predictWgmma(problem, parser.parse(schedule), *target).seconds * 1e6;
  }

  unsigned countSwapped(const LayerProblem &problem) {
    return llvm::count_if(
        listWgmmaSchedules(problem, {target}),
        [](ScheduleAttr schedule) { return schedule.hasSwappedOperands(); });
  }

  ScheduleParser parser{"wgmma"};
  const TargetSpec *target = lookupTarget("sm_90a");
};

constexpr llvm::StringLiteral
    kTall("tile = 64x64x64, warps = 4x1, stages = 12, swizzle = 128, raster = "
          "8, blocks = 1, stream_k = true");
} // namespace

TEST_F(SwappedTest, FewRows) {
  LayerProblem problem = getProblem(128, 4096, 4096);
  EXPECT_TRUE(isFewRows(problem));
  EXPECT_FALSE(isFewRows(getProblem(129, 4096, 4096)));
  problem.hasDynamicRows = true;
  EXPECT_FALSE(isFewRows(problem));
  problem.hasDynamicRows = false;
  problem.method = ProductMethod::FP16;
  problem.tiledType = Float16Type::get(&parser.context);
  EXPECT_FALSE(isFewRows(problem));
  EXPECT_EQ(countSwapped(problem), 0u);
}

TEST_F(SwappedTest, Listed) {
  LayerProblem problem = getProblem(100, 4096, 4096);
  EXPECT_EQ(countSwapped(problem), 4u);
  for (ScheduleAttr schedule : listWgmmaSchedules(problem, {target}))
    if (schedule.hasSwappedOperands())
      EXPECT_EQ(schedule.getTile()[0], 104);
  // Elements that are finished one by one take registers.
  EXPECT_EQ(countSwapped(getProblem(100, 4093, 4096)), 2u);
  EXPECT_EQ(countSwapped(getProblem(129, 4096, 4096)), 0u);
  // Nothing is reduced with swapped operands.
  problem.hasNorm = true;
  for (ReductionMethod reduction :
       {ReductionMethod::TwoPhase, ReductionMethod::Resident}) {
    problem.reduction = reduction;
    EXPECT_EQ(countSwapped(problem), 0u);
  }
}

TEST_F(SwappedTest, Chosen) {
  for (int64_t m : {1, 8, 16, 17, 32, 96}) {
    ScheduleAttr schedule = choose(getProblem(m, 4096, 4096));
    EXPECT_TRUE(schedule.hasSwappedOperands()) << m;
    EXPECT_EQ(schedule.getTile()[0], static_cast<int64_t>(llvm::alignTo(m, 8)));
    EXPECT_EQ(schedule.getTile()[1], 64);
  }
  // Tiles of 64 rows that are all there need no partial ones.
  EXPECT_FALSE(choose(getProblem(64, 4096, 4096)).hasSwappedOperands());
  EXPECT_FALSE(choose(getProblem(128, 4096, 4096)).hasSwappedOperands());
  EXPECT_FALSE(choose(getProblem(1024, 4096, 4096)).hasSwappedOperands());
}

/// Of benchmarks/results/sm90a_swapped.json, less the 2.4 us that a launch in a
/// graph took longer than in a burst.
TEST_F(SwappedTest, TimesAsMeasured) {
  struct {
    int64_t m, n;
    StringRef schedule;
    double measured;
  } cases[] = {
      {8, 4096, "tile = 8x64x64, warps = 1x4, stages = 12", 8.7},
      {32, 4096, "tile = 32x128x64, warps = 1x4, stages = 10", 10.5},
      {96, 4096, "tile = 96x64x64, warps = 1x4, stages = 10", 11.4},
      {128, 4096, "tile = 128x128x64, warps = 1x4, stages = 6", 14.2},
      {8, 8192, "tile = 8x64x64, warps = 1x4, stages = 12", 36.1},
      {128, 8192, "tile = 128x64x64, warps = 1x4, stages = 8", 41.0},
  };
  for (auto &[m, n, schedule, measured] : cases)
    EXPECT_NEAR(predict(getProblem(m, n, n),
                        (schedule + ", swizzle = 128, raster = 8, blocks = 1, "
                                    "stream_k = true")
                            .str()),
                measured, 0.1 * measured)
        << m << " " << n;
}

TEST_F(SwappedTest, MissingRows) {
  // TMA writes zeros for rows beyond M, and takes longer for them than for
  // those that are there.
  double all = predict(getProblem(64, 8192, 8192), kTall);
  EXPECT_GT(predict(getProblem(8, 8192, 8192), kTall), 1.2 * all);
  EXPECT_LT(predict(getProblem(8, 8192, 8192), kTall),
            predict(getProblem(1, 8192, 8192), kTall));
  // Few blocks do not wait for each other.
  EXPECT_LT(predict(getProblem(8, 64, 64), kTall),
            1.1 * predict(getProblem(64, 64, 64), kTall));
}
