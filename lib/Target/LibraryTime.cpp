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

#include "Heuristics.h"

using namespace mlir;
using namespace mlir::tenon;

/// How much longer cuBLAS takes on Hopper for products whose rows are no
/// multiples of 16 bytes: 2 to 7 times in benchmarks/results/sm90a_sweep.json.
static constexpr double kUnalignedFactor = 3.5;

/// What SGEMM reaches of memory's rate where it reads w for one row, and rows
/// of a tile, as which fewer take about as long: on an H200 8 and 16 rows took
/// 0.14 ms, 32 and 64 rows 0.20 ms, with N = K = 8192. Below 8 rows it is
/// another kernel.
static constexpr double kSgemmMemoryShare = 0.74;
static constexpr int64_t kSgemmRows = 64, kLeastSgemmRows = 8;

double tenon::predictRest(const LayerProblem &problem,
                          const TargetSpec &target) {
  return (problem.productBytes + problem.epilogueBytes) / target.memoryRate +
         kLaunchSeconds;
}

double tenon::predictLibrary(const LayerProblem &problem,
                             const TargetSpec &target) {
  // f32 of precision bf16 or fp16 is read as f32 all the same.
  bool isF32 = problem.libraryType.isF32();
  double rate = isF32 ? target.libraryRate.tf32 : target.libraryRate.bits16;
  double memoryRate = target.memoryRate;
  int64_t rows = problem.m;
  if (problem.isFp32) {
    rate = target.libraryFp32Rate;
    memoryRate *= kSgemmMemoryShare;
    if (rows >= kLeastSgemmRows)
      rows = llvm::alignTo(rows, kSgemmRows);
  }
  double operandBytes =
      static_cast<double>(problem.m + problem.n) * problem.k * (isF32 ? 4 : 2);
  double written =
      problem.libraryDoesAll ? problem.epilogueBytes : problem.productBytes;
  double operations = 2.0 * rows * problem.n * problem.k;
  int64_t bytes = isF32 ? 4 : 2;
  // SGEMM has no tensor cores to feed.
  bool isSlow = target.hasWgmma && !problem.isFp32 &&
                (problem.n * bytes % 16 != 0 || problem.k * bytes % 16 != 0);
  double seconds =
      kLaunchSeconds +
      (isSlow ? kUnalignedFactor : 1) *
          std::max(operations / rate, (operandBytes + written) / memoryRate);
  return problem.libraryDoesAll ? seconds
                                : seconds + predictRest(problem, target);
}
