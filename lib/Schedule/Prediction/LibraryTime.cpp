//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts times of the library, with which those of kernels are compared.
//
//===----------------------------------------------------------------------===//

#include "LibraryTime.h"

#include "tenon/Dialect/Tenon/IR/NarrowFloats.h"

using namespace mlir;
using namespace mlir::tenon;

/// How much longer cuBLAS takes on Hopper for products whose rows are no
/// multiples of 16 bytes: 2 to 7 times in benchmarks/results/sm90a_sweep.json
/// and regret.json.
static constexpr double kUnalignedFactor = 5;

/// How much longer than a bare product one with an activation of cuBLASLt's own
/// takes, and what an epilogue kernel behind a product takes besides its bytes:
/// fitted to 172 layers of benchmarks/results/regret.json, H200.
static constexpr double kActivationFactor = 1.14, kActivationSeconds = 1e-6,
                        kRestSeconds = 1.5e-6;

/// What SGEMM reaches of memory's rate where it reads w for one row, and the
/// rows of its tile, as which fewer take about as long (fp32.json). One row is
/// another kernel's.
static constexpr double kSgemmMemoryShare = 0.74;
static constexpr int64_t kSgemmRows = 64, kLeastSgemmRows = 2;

/// The part of L2 that still has what the kernel before wrote, and how much
/// faster than memory it is read; and what a kernel that goes over rows takes
/// besides. Fitted to the two kernels of strategy library's batch norm on an
/// H200, 2026-11-22.
static constexpr double kL2Part = 2.0 / 3, kL2Factor = 1.35,
                        kPassSeconds = 2e-6;

double tenon::predictMemory(double bytes, const TargetSpec &target) {
  double kept = std::min(bytes, kL2Part * static_cast<double>(target.l2Bytes));
  return (bytes - kept + kept / kL2Factor) / target.memoryRate;
}

double tenon::predictReads(double bytes, const TargetSpec &target,
                           double l2Factor) {
  double part = kL2Part * static_cast<double>(target.l2Bytes);
  double kept = std::max(std::min(bytes, 2 * part - bytes), 0.0);
  return (bytes - kept + kept / l2Factor) / target.memoryRate;
}

/// Elements of a row that a block keeps in registers (Epilogue/RowKernel.cpp).
static constexpr int64_t kKeptRow = 512 * 64;

double tenon::predictRest(const LayerProblem &problem, const TargetSpec &target,
                          ReductionMethod reduction) {
  if (!problem.hasNorm) {
    // Each reduction reads rows again that are too long for registers.
    bool isKept = problem.n <= kKeptRow;
    double passes = isKept ? 1.0 : 1.0 + problem.numRowReductions;
    return (passes * problem.productBytes + problem.epilogueBytes) /
               target.memoryRate +
           kLaunchSeconds + kRestSeconds;
  }
  bool isTwoPhase = reduction == ReductionMethod::TwoPhase;
  double read = isTwoPhase ? problem.reducedBytes : problem.productBytes;
  double pass = kLaunchSeconds + kPassSeconds + predictMemory(read, target);
  return (isTwoPhase ? 1 : 2) * pass +
         problem.epilogueBytes / target.memoryRate;
}

double tenon::predictSums() { return kLaunchSeconds + kPassSeconds; }

double tenon::predictParts(const LayerProblem &problem, ScheduleAttr schedule,
                           const TargetSpec &target) {
  int64_t parts = llvm::divideCeil(problem.n, schedule.getTile()[1]);
  double bytes = 4.0 * static_cast<double>(problem.m * parts) *
                 static_cast<double>(problem.numRowReductions);
  return 2 * predictMemory(bytes, target) + kLaunchSeconds + kRestSeconds;
}

/// What kernels reach of the f64 rate between their barriers, and seconds
/// before the first of a kernel's data are there. Estimated, not measured.
static constexpr double kF64Share = 0.5, kLatencySeconds = 1.5e-6;
/// Blocks at most that sum products of x's rows, each those of a tile of S2,
/// and the rows that one has at least; what they leave, others read.
static constexpr double kGramBlocks = 264, kGramRows = 64;

double tenon::predictInputMoments(const LayerProblem &problem,
                                  const TargetSpec &target) {
  double k = static_cast<double>(llvm::alignTo<32>(problem.k));
  // S2 is symmetric, but for the tiles on its diagonal.
  double kept = k * (k + 32) / 2;
  double operations = 2 * kept * static_cast<double>(problem.m + problem.n);
  double tile = 32 * 32;
  double stages = std::ceil(static_cast<double>(problem.m) / kGramRows);
  double bytes = 2 * 8 * std::min(kGramBlocks * tile, stages * kept);
  // An epilogue turns the three kernels' moments into statistics.
  return operations / (kF64Share * target.f64Rate) +
         bytes / (kL2Factor * target.memoryRate) +
         4 * (kLaunchSeconds + kLatencySeconds);
}

/// What a product takes whatever it computes, each 128 bytes of K, of which not
/// more come one after the other than so many, and what products and memory
/// take from each other: fitted to cuBLAS's times in
/// sm90a_schedules.json and sm90a_sweep.json.
static constexpr double kProductSeconds = 2.75e-6, kStageSeconds = 3.5e-8,
                        kMemoryShare = 0.2;
static constexpr int64_t kMostStages = 64;

/// Seconds of a product on Hopper's tensor cores that takes `products` seconds
/// at their rate and moves `bytes`.
static double predictWgmmaProduct(const LayerProblem &problem, double products,
                                  double bytes, int64_t element,
                                  const TargetSpec &target) {
  int64_t stages = llvm::divideCeil(problem.k * element, 128);
  double memory = predictMemory(bytes, target);
  bool isUnaligned =
      problem.n * element % 16 != 0 || problem.k * element % 16 != 0;
  return kProductSeconds +
         kStageSeconds * static_cast<double>(std::min(stages, kMostStages)) +
         (isUnaligned ? kUnalignedFactor : 1) * std::max(products, memory) +
         kMemoryShare * std::min(products, memory);
}

double tenon::predictLibrary(const LayerProblem &problem,
                             const TargetSpec &target) {
  // f32 of precision bf16 or fp16 is read as f32 all the same.
  bool isF32 = problem.libraryType.isF32();
  bool isBytes =
      isNarrowFloat(problem.libraryType) && target.libraryRate.bits8 != 0;
  int64_t element = isF32 ? 4 : isBytes ? 1 : 2;
  double rate = isF32     ? target.libraryRate.tf32
                : isBytes ? target.libraryRate.bits8
                          : target.libraryRate.bits16;
  double memoryRate = target.memoryRate;
  int64_t rows = problem.m;
  if (problem.isFp32) {
    rate = target.libraryFp32Rate;
    memoryRate *= kSgemmMemoryShare;
    if (rows >= kLeastSgemmRows)
      rows = llvm::alignTo(rows, kSgemmRows);
  }
  int64_t columns = problem.weights * problem.n;
  double operandBytes =
      static_cast<double>(problem.m + columns) * problem.k * element;
  double written =
      problem.libraryDoesAll ? problem.epilogueBytes : problem.productBytes;
  double products = 2.0 * rows * columns * problem.k / rate;
  double bytes = operandBytes + written;
  // SGEMM has no tensor cores to feed.
  double seconds =
      target.hasWgmma && !problem.isFp32
          ? predictWgmmaProduct(problem, products, bytes, element, target)
          : kLaunchSeconds + std::max(products, bytes / memoryRate);
  if (!problem.libraryDoesAll)
    return seconds + predictRest(problem, target, ReductionMethod::Separate);
  return problem.libraryActivates
             ? kActivationFactor * seconds + kActivationSeconds
             : seconds;
}

/// Rows below which what is predicted of the library is too high; and of
/// precision fp32, of which cuBLAS errs less for one row than split products
/// do.
static constexpr int64_t kLeastRows = 64, kFewFp32Rows = 2;

bool tenon::isLibraryUncertain(const LayerProblem &problem) {
  return problem.m < (problem.isFp32 ? kFewFp32Rows : kLeastRows);
}
