//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of family wgmma with swapped operands or without: for few rows, and
// for large layers.
//
//===----------------------------------------------------------------------===//

#include "LightProblem.h"
#include "Schedule/Wgmma/WgmmaCandidates.h"
#include "Schedule/Wgmma/WgmmaChoice.h"
#include "Schedule/Wgmma/WgmmaHeuristics.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

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

/// Beside more accumulators, values of rows spill.
TEST_F(SwappedTest, ValuesOfRows) {
  LayerProblem problem = getProblem(8192, 8192, 8192);
  auto hasWide = [&] {
    return llvm::any_of(listWgmmaSchedules(problem, {target}),
                        [](ScheduleAttr schedule) {
                          return schedule.hasSwappedOperands() &&
                                 getAccumulators(schedule) > 128;
                        });
  };
  EXPECT_TRUE(hasWide());
  problem.hasRowValues = true;
  EXPECT_FALSE(hasWide());
  EXPECT_GT(countSwapped(problem), 0u);
  problem.hasRowValues = false;
  problem.reduction = ReductionMethod::Resident;
  EXPECT_FALSE(hasWide());
  EXPECT_GT(countSwapped(problem), 0u);
}

TEST_F(SwappedTest, Listed) {
  LayerProblem problem = getProblem(100, 4096, 4096);
  EXPECT_EQ(countSwapped(problem), 2u);
  for (ScheduleAttr schedule : listWgmmaSchedules(problem, {target}))
    if (schedule.hasSwappedOperands())
      EXPECT_EQ(schedule.getTile()[0], 104);
  EXPECT_EQ(countSwapped(getProblem(100, 4093, 4096)), 2u);
  EXPECT_EQ(countSwapped(getProblem(129, 4096, 4096)), 0u);
  // More than a wave.
  EXPECT_EQ(countSwapped(getProblem(100, 132 * 64, 4096)), 2u);
  EXPECT_EQ(countSwapped(getProblem(100, 132 * 64 + 8, 4096)), 0u);
  // What reduces was not measured so.
  problem = getProblem(128, 4096, 4096);
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
  EXPECT_FALSE(choose(getProblem(512, 4096, 4096)).hasSwappedOperands());
}

/// Bursts of benchmarks/results/sm90a_few_rows_auto.json.
TEST_F(SwappedTest, TimesAsMeasured) {
  struct {
    int64_t m, n, k;
    StringRef schedule;
    double measured;
  } cases[] = {
      {8, 4096, 4096, "8x64x64, warps = 1x4, stages = 12", 8.1},
      {32, 4096, 4096, "32x64x64, warps = 1x4, stages = 12", 8.6},
      {2, 8192, 1024, "8x64x64, warps = 1x4, stages = 12", 4.5},
      {1, 8192, 8192, "8x64x64, warps = 1x4, stages = 12", 34.7},
      {96, 8192, 8192, "96x64x64, warps = 1x4, stages = 10", 36.7},
      {128, 8192, 8192, "64x128x64, warps = 4x1, stages = 8", 36.9},
  };
  for (auto &[m, n, k, schedule, measured] : cases) {
    std::string text =
        ("tile = " + schedule + ", swizzle = 128, raster = 8, blocks = 1" +
         (m == 128 ? ", cluster = 2x1" : ""))
            .str();
    EXPECT_NEAR(predict(getProblem(m, n, k), text), measured, 0.1 * measured)
        << text;
  }
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

TEST_F(SwappedTest, LargeListed) {
  LayerProblem problem = getProblem(1024, 4096, 4096);
  unsigned all = countSwapped(problem);
  EXPECT_GT(all, 0u);
  for (ScheduleAttr schedule : listWgmmaSchedules(problem, {target})) {
    if (!schedule.hasSwappedOperands())
      continue;
    EXPECT_EQ(schedule.getWarps()[1], schedule.getPingPong() ? 4 : 8);
    EXPECT_GE(getAccumulators(schedule), 128);
    EXPECT_FALSE(schedule.getStreamK());
  }
  EXPECT_EQ(countSwapped(getProblem(1023, 4096, 4096)), 0u);
  EXPECT_EQ(countSwapped(getProblem(1024, 4100, 4096)), 0u);
  // A dynamic M may be small, and have any wave.
  problem.hasDynamicRows = true;
  for (ScheduleAttr schedule : listWgmmaSchedules(problem, {target}))
    if (schedule.hasSwappedOperands()) {
      EXPECT_EQ(schedule.getTile()[0], 128);
      EXPECT_TRUE(schedule.getStreamK());
    }
  // Three tiles, each in three kinds of clusters.
  EXPECT_EQ(countSwapped(problem), 9u);
}

/// Sums and partial sums of fp16x3 are 192 of a thread's registers at most.
TEST_F(SwappedTest, LargeSplit) {
  LayerProblem problem = getProblem(16384, 4096, 4096);
  problem.tiledType = Float16Type::get(&parser.context);
  problem.method = ProductMethod::FP16x3;
  EXPECT_GT(countSwapped(problem), 0u);
  for (ScheduleAttr schedule : listWgmmaSchedules(problem, {target}))
    if (schedule.hasSwappedOperands()) {
      EXPECT_EQ(schedule.getWarps()[1], 8);
      EXPECT_LE(getAccumulators(schedule), 192);
    }
  EXPECT_TRUE(choose(problem).hasSwappedOperands());
  EXPECT_FALSE(choose(problem).getStreamK());
  problem.m = 1023;
  EXPECT_EQ(countSwapped(problem), 0u);
  // Of the rows of a dynamic M tiles have few.
  problem.m = 16384;
  problem.hasDynamicRows = true;
  for (ScheduleAttr schedule : listWgmmaSchedules(problem, {target}))
    if (schedule.hasSwappedOperands())
      EXPECT_EQ(schedule.getTile()[0], 128);
}

/// What was not measured, or cannot be.
TEST_F(SwappedTest, LargeLeftOut) {
  LayerProblem problem = getProblem(1024, 4096, 4096);
  unsigned all = countSwapped(problem);
  problem.tiledType = Float32Type::get(&parser.context);
  EXPECT_EQ(countSwapped(problem), 0u);
  problem.tiledType = Float16Type::get(&parser.context);
  EXPECT_EQ(countSwapped(problem), all);
  problem.method = ProductMethod::FP16;
  EXPECT_EQ(countSwapped(problem), 0u);
  problem.method = ProductMethod::Direct;
  // What waits for others has no ping-pong, and fewer accumulators.
  problem.hasNorm = true;
  problem.reduction = ReductionMethod::Separate;
  EXPECT_EQ(countSwapped(problem), all);
  // Moments are of 64 rows.
  problem.reduction = ReductionMethod::TwoPhase;
  EXPECT_GT(countSwapped(problem), 0u);
  EXPECT_LT(countSwapped(problem), all);
  for (ScheduleAttr schedule : listWgmmaSchedules(problem, {target}))
    EXPECT_EQ(schedule.getTile()[0] % 64, 0);
  EXPECT_TRUE(choose(problem).hasSwappedOperands());
  problem.reduction = ReductionMethod::Resident;
  EXPECT_LT(countSwapped(problem), all);
  EXPECT_TRUE(choose(problem).hasSwappedOperands());
}

/// Of benchmarks/results/sm90a_swapped_large.json, launches in a graph.
TEST_F(SwappedTest, LargeTimesAsMeasured) {
  const StringRef wide =
      "tile = 128x256x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, "
      "blocks = 1, cluster = 2x1";
  const StringRef tall =
      "tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, "
      "blocks = 1, cluster = 1x2";
  const StringRef largest =
      "tile = 192x256x64, warps = 1x8, stages = 3, swizzle = 128, raster = 8, "
      "blocks = 1, cluster = 2x1";
  const StringRef inTurn =
      "tile = 192x128x64, warps = 4x1, stages = 5, swizzle = 128, raster = 8, "
      "blocks = 1, cluster = 1x2, ping_pong = true";
  struct {
    int64_t m, n;
    StringRef schedule;
    double measured;
  } cases[] = {
      {1024, 8192, wide, 171.6},     {1024, 8192, tall, 166.8},
      {4096, 4096, wide, 176.7},     {4096, 4096, tall, 169.3},
      {8192, 8192, largest, 1307.4}, {8192, 8192, inTurn, 1324.6},
      {16384, 4096, largest, 673.7}, {16384, 4096, inTurn, 668.9},
  };
  for (auto &[m, n, schedule, measured] : cases)
    EXPECT_NEAR(predict(getProblem(m, n, n), schedule), measured,
                0.05 * measured)
        << m << " " << schedule.str();
  // The fastest is chosen.
  EXPECT_EQ(choose(getProblem(1024, 8192, 8192)), parser.parse(tall));
  EXPECT_EQ(choose(getProblem(4096, 4096, 4096)), parser.parse(tall));
}

/// Where memory bounds a layer, tiles that read x each for themselves take
/// longer: by 7.5 and 7.1 % (an H200, 2026-11-29, launches in a graph).
TEST_F(SwappedTest, ReadsOfX) {
  auto predictCluster = [&](const LayerProblem &problem, StringRef tile,
                            StringRef cluster) {
    return predict(problem,
                   ("tile = " + tile +
                    ", swizzle = 128, raster = 8, blocks = 1, cluster = " +
                    cluster + ", ping_pong = true")
                       .str());
  };
  const StringRef tall = "192x128x64, warps = 1x4, stages = 4";
  const StringRef square = "128x128x64, warps = 1x4, stages = 6";
  LayerProblem problem = getProblem(262144, 256, 256);
  for (StringRef tile : {tall, square})
    EXPECT_NEAR(predictCluster(problem, tile, "1x1") /
                    predictCluster(problem, tile, "1x2"),
                1.073, 0.025);
  // Products hide it.
  problem = getProblem(16384, 4096, 4096);
  EXPECT_NEAR(predictCluster(problem, square, "2x1") /
                  predictCluster(problem, square, "1x2"),
              1, 0.01);
}
