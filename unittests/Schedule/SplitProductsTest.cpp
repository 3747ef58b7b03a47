//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of precision fp32: which methods give it, what they are predicted to
// take, and that what is chosen can run.
//
//===----------------------------------------------------------------------===//

#include "Schedule/MmaSync/MmaSyncCandidates.h"
#include "Schedule/Prediction/LibraryTime.h"
#include "Schedule/Wgmma/WgmmaChoice.h"
#include "tenon/Schedule/Checks/ProductMethod.h"
#include "tenon/Schedule/MmaSync/MmaSyncSchedule.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::tenon;

namespace {
constexpr const char *kTargets[] = {"sm_80", "sm_86", "sm_89", "sm_90",
                                    "sm_90a"};

class SplitProductsTest : public testing::Test {
protected:
  SplitProductsTest() { context.loadDialect<TenonDialect>(); }

  Type getF16() { return Float16Type::get(&context); }
  Type getF32() { return Float32Type::get(&context); }

  /// A layer of fp32 whose w is a parameter.
  LayerProblem getProblem(int64_t m, int64_t n, int64_t k,
                          ProductMethod method = ProductMethod::FP16x3) {
    LayerProblem problem;
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.libraryType = getF32();
    problem.isFp32 = true;
    problem.method = method;
    problem.tiledType = method == ProductMethod::FMA ? getF32() : getF16();
    problem.productBytes = problem.epilogueBytes =
        4 * static_cast<double>(m) * static_cast<double>(n);
    if (method == ProductMethod::FP16x3)
      problem.fitBytes = 8 * static_cast<double>(m) * static_cast<double>(k);
    return problem;
  }

  /// Microseconds that the best schedule is predicted to take on `target`.
  double predict(const LayerProblem &problem, StringRef target) {
    const TargetSpec *spec = lookupTarget(target);
    bool isWgmma = spec->hasWgmma && problem.method != ProductMethod::FMA;
    ScheduleChoice choice = isWgmma ? *chooseWgmma(problem, {spec}, {})
                                    : *chooseMmaSync(problem, {spec});
    return choice.predictions[0].seconds * 1e6;
  }

  MLIRContext context;
};
} // namespace

TEST_F(SplitProductsTest, MethodsOfPrecisions) {
  auto gives = [&](ProductMethod method, Type type,
                   std::optional<Precision> precision, int64_t k = 4096) {
    return findPrecisionProblem(method, type, precision, k).empty();
  };
  using enum ProductMethod;
  for (std::optional<Precision> precision :
       {std::optional<Precision>(), std::optional(Precision::FP32)}) {
    EXPECT_TRUE(gives(FP16x3, getF32(), precision));
    EXPECT_TRUE(gives(FMA, getF32(), precision));
    EXPECT_FALSE(gives(Direct, getF32(), precision));
    EXPECT_FALSE(gives(FP16, getF32(), precision));
  }
  for (ProductMethod method : {Direct, FP16, FP16x3, FMA}) {
    EXPECT_TRUE(gives(method, getF32(), Precision::TF32));
    for (Precision precision : {Precision::BF16, Precision::FP16})
      EXPECT_EQ(gives(method, getF32(), precision), method == Direct);
    EXPECT_EQ(gives(method, getF16(), std::nullopt), method == Direct);
  }
  // With fewer products an error shows that a sum of more hides.
  EXPECT_TRUE(gives(FP16x3, getF32(), Precision::FP32, 64));
  EXPECT_FALSE(gives(FP16x3, getF32(), Precision::FP32, 63));
  EXPECT_TRUE(gives(FP16x3, getF32(), Precision::TF32, 1));
  EXPECT_TRUE(gives(FMA, getF32(), Precision::FP32, 1));
  EXPECT_FALSE(gives(FP16, getF32(), Precision::TF32, (1 << 25) + 1));
  EXPECT_TRUE(gives(FMA, getF32(), Precision::FP32, (1 << 25) + 1));
}

TEST_F(SplitProductsTest, WhatIsRead) {
  EXPECT_EQ(getProblem(8, 8, 65).getTiledColumns(), 2 * 96);
  EXPECT_EQ(getProblem(8, 8, 65, ProductMethod::FP16).getTiledColumns(), 72);
  EXPECT_EQ(getProblem(8, 8, 65, ProductMethod::FMA).getTiledColumns(), 65);
  // Three products of 32 elements for 64 columns.
  EXPECT_EQ(getProblem(8, 8, 64).getOperations(), 3);
  EXPECT_EQ(getProblem(8, 8, 64, ProductMethod::FMA).getOperations(), 2);
  EXPECT_EQ(getProblem(8, 8, 64).getOperandBytes(), 16 * 128 * 2);
  EXPECT_EQ(getProblem(8, 8, 64, ProductMethod::FMA).getOperandBytes(),
            16 * 64 * 4);
}

/// SGEMM is not as fast as cuBLAS's tf32.
TEST_F(SplitProductsTest, LibraryOfFp32) {
  for (const char *name : kTargets) {
    const TargetSpec &target = *lookupTarget(name);
    LayerProblem problem = getProblem(8192, 8192, 8192);
    double fp32 = predictLibrary(problem, target);
    problem.isFp32 = false;
    double tf32 = predictLibrary(problem, target);
    double rates = target.libraryRate.tf32 / target.libraryFp32Rate;
    EXPECT_NEAR(fp32 / tf32, rates, 0.02 * rates) << name;
    EXPECT_GE(target.fmaRate, target.libraryFp32Rate) << name;
  }
}

/// What was measured on an H200, and an A100 in proportion.
TEST_F(SplitProductsTest, Times) {
  EXPECT_NEAR(predict(getProblem(1024, 8192, 8192), "sm_90a"), 560, 30);
  EXPECT_NEAR(predict(getProblem(16384, 4096, 4096), "sm_90a"), 2270, 120);
  EXPECT_NEAR(predict(getProblem(1024, 8192, 8192), "sm_90"), 968, 30);
  EXPECT_NEAR(predict(getProblem(1024, 8192, 8192), "sm_80"), 1980, 200);
  for (const char *name : kTargets) {
    double library =
        predictLibrary(getProblem(4096, 4096, 4096), *lookupTarget(name)) * 1e6;
    double fma =
        predict(getProblem(4096, 4096, 4096, ProductMethod::FMA), name);
    EXPECT_GT(fma, library) << name;
    EXPECT_LT(fma, 2 * library) << name;
  }
}

/// 392 tiles are nearly three waves of 132; 344 or 512 leave more idle.
TEST_F(SplitProductsTest, WholeWaves) {
  ScheduleChoice choice =
      *chooseWgmma(getProblem(1024, 8192, 8192), {lookupTarget("sm_90a")}, {});
  EXPECT_EQ(choice.schedule.getTile(), ArrayRef<int64_t>({128, 168, 64}));
  EXPECT_FALSE(choice.schedule.getStreamK());
  EXPECT_NEAR(choice.predictions[0].waves, 392.0 / 132, 1e-9);
}

/// Splitting x in each call, the guard, and a kernel for the rest cost time.
TEST_F(SplitProductsTest, OtherKernels) {
  const TargetSpec &target = *lookupTarget("sm_90a");
  LayerProblem problem = getProblem(1024, 8192, 8192);
  ScheduleAttr schedule = chooseWgmma(problem, {&target}, {})->schedule;
  double all = predictOthers(problem, schedule, target);
  problem.fitBytes = 0;
  double guard = predictOthers(problem, schedule, target);
  EXPECT_NEAR(all - guard,
              8.0 * 1024 * 8192 / target.memoryRate + kLaunchSeconds, 1e-9);
  EXPECT_GT(guard, kLaunchSeconds);
  problem.tiledDoesAll = false;
  EXPECT_NEAR(predictOthers(problem, schedule, target) - guard,
              predictRest(problem, target, ReductionMethod::Separate), 1e-9);
}

/// Whatever is chosen for any shape can run, and keeps to its method.
TEST_F(SplitProductsTest, ChosenRuns) {
  for (int64_t m : {1, 63, 129, 1024, 16384})
    for (int64_t n : {1, 8, 264, 4096})
      for (int64_t k : {64, 100, 8192})
        for (ProductMethod method :
             {ProductMethod::FP16x3, ProductMethod::FMA}) {
          LayerProblem problem = getProblem(m, n, k, method);
          SmallVector<const TargetSpec *> targets;
          for (const char *name : kTargets)
            targets.push_back(lookupTarget(name));
          std::optional<ScheduleChoice> choice =
              chooseMmaSync(problem, targets);
          ASSERT_TRUE(choice);
          for (const TargetSpec *target : targets)
            EXPECT_EQ(findProblem(choice->schedule, problem.tiledType, *target),
                      "");
          EXPECT_EQ(choice->schedule.getMethod(), method);
          if (method == ProductMethod::FMA)
            continue;
          ScheduleAttr schedule =
              chooseWgmma(problem, targets.back(), {})->schedule;
          EXPECT_EQ(findProblem(schedule, getF16(), *targets.back()), "");
          EXPECT_EQ(schedule.getMethod(), method);
        }
}

/// A measured schedule of fp32 outranks what is predicted, and is not f16's.
TEST_F(SplitProductsTest, MeasuredFirst) {
  constexpr llvm::StringLiteral text(
      "wgmma, tile = 128x96x64, warps = 8x1, stages = 6, swizzle = 128, raster "
      "= 8, blocks = 1, method = fp16x3");
  TunedSchedule line{TunedSchedule::FP32,  1024, 8192, 8192,
                     EpilogueClass::Light, text};
  const TargetSpec *target = lookupTarget("sm_90a");
  LayerProblem problem = getProblem(1024, 8192, 8192);
  EXPECT_EQ(chooseWgmma(problem, target, line)->schedule, line.parse(&context));
  line.type = TunedSchedule::F16;
  EXPECT_FALSE(chooseWgmma(problem, target, line)->isTuned);
}

TEST_F(SplitProductsTest, GuardsRunEverywhere) {
  for (int64_t m : {int64_t(1), int64_t(64), int64_t(65), ShapedType::kDynamic})
    for (Precision precision : {Precision::FP32, Precision::TF32}) {
      ScheduleAttr schedule = getGuardSchedule(&context, precision, m);
      EXPECT_FALSE(schedule.getStreamK());
      EXPECT_EQ(
          findPrecisionProblem(schedule.getMethod(), getF32(), precision, 4096),
          "");
      for (const char *name : kTargets)
        EXPECT_EQ(findProblem(schedule, getF32(), *lookupTarget(name)), "");
    }
}

TEST_F(SplitProductsTest, GuardsHaveTheRowsThatReductionsDependOn) {
  for (ReductionMethod reduction :
       {ReductionMethod::TwoPhase, ReductionMethod::Resident}) {
    ScheduleAttr schedule = getGuardSchedule(
        &context, Precision::FP32, /*m=*/1000, reduction, /*rows=*/32);
    EXPECT_EQ(schedule.getTile()[0], 32);
    EXPECT_EQ(schedule.getReduction(), reduction);
    EXPECT_EQ(findProblem(schedule, getF32(), *lookupTarget("sm_86")), "");
  }
}
