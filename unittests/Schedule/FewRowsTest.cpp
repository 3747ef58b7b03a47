//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of family mma_sync for few rows: what more stages are predicted to
// give, and where they are chosen.
//
//===----------------------------------------------------------------------===//

#include "LightProblem.h"
#include "Schedule/MmaSync/MmaSyncCandidates.h"
#include "Schedule/MmaSync/MmaSyncHeuristics.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::tenon;

namespace {
class FewRowsTest : public testing::Test {
protected:
  FewRowsTest() { context.loadDialect<TenonDialect>(); }

  LayerProblem getProblem(int64_t m, int64_t n, int64_t k) {
    return getLightProblem(BFloat16Type::get(&context), m, n, k);
  }

  ScheduleChoice choose(const LayerProblem &problem, StringRef target) {
    return *chooseMmaSync(problem, {lookupTarget(target)});
  }

  /// Microseconds of 16x128 with so many stages.
  double predict(const LayerProblem &problem, int64_t stages,
                 StringRef target) {
    ScheduleAttr schedule =
        ScheduleAttr::get(&context, {.family = KernelFamily::MmaSync,
                                     .tile = {16, 128, 64},
                                     .warps = {1, 4},
                                     .stages = stages,
                                     .swizzle = 128,
                                     .raster = 16,
                                     .blocks = 1,
                                     .streamK = true});
    return predictMmaSync(problem, schedule, *lookupTarget(target)).seconds *
           1e6;
  }

  MLIRContext context;
};
} // namespace

TEST_F(FewRowsTest, MoreStages) {
  // L2 has w of 32 MiB from the call before, so copies bound the kernel.
  LayerProblem kept = getProblem(16, 4096, 4096);
  EXPECT_LT(predict(kept, 6, "sm_90a"), 0.9 * predict(kept, 4, "sm_90a"));
  EXPECT_GT(predict(kept, 8, "sm_90a"), 0.95 * predict(kept, 6, "sm_90a"));
  // Memory bounds it where w is larger.
  LayerProblem large = getProblem(1, 32768, 8192);
  EXPECT_GT(predict(large, 6, "sm_90a"), 0.94 * predict(large, 4, "sm_90a"));
  // Of other GPUs nothing is known that would tell stages apart.
  EXPECT_EQ(predict(kept, 6, "sm_80"), predict(kept, 4, "sm_80"));
}

TEST_F(FewRowsTest, Chosen) {
  LayerProblem problem = getProblem(16, 4096, 4096);
  EXPECT_EQ(choose(problem, "sm_90a").schedule.getStages(), 6);
  EXPECT_EQ(choose(problem, "sm_90").schedule.getStages(), 6);
  for (StringRef target : {"sm_80", "sm_86", "sm_89"})
    EXPECT_EQ(choose(problem, target).schedule.getStages(), 4) << target.str();
  // What two targets share is what both can hold.
  auto both =
      chooseMmaSync(problem, {lookupTarget("sm_90"), lookupTarget("sm_86")});
  EXPECT_EQ(
      findProblem(both->schedule, problem.tiledType, *lookupTarget("sm_86")),
      "");
}

TEST_F(FewRowsTest, WhereItIsWeighed) {
  LayerProblem problem = getProblem(16, 4096, 4096);
  EXPECT_TRUE(isForMmaSync(problem));
  EXPECT_FALSE(isForMmaSync(getProblem(17, 4096, 4096)));
  EXPECT_FALSE(isForMmaSync(getProblem(16, 4096, 4093)));
  LayerProblem split = problem;
  split.method = ProductMethod::FP16;
  EXPECT_FALSE(isForMmaSync(split));
  LayerProblem tf32 = problem;
  tf32.tiledType = Float32Type::get(&context);
  EXPECT_FALSE(isForMmaSync(tf32));
  LayerProblem norm = problem;
  norm.hasNorm = true;
  EXPECT_FALSE(isForMmaSync(norm));
}
