//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts times of kernels of family mma_sync, and chooses their schedules.
//
//===----------------------------------------------------------------------===//

#include "Heuristics.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// The time of a tiled kernel
//===----------------------------------------------------------------------===//

/// What sums outside of tensor cores take: 0.968 ms for M x N x K =
/// 1024x8192x8192 by fp16x3 with 128x128 on an H200, with the kernels beside
/// it.
static constexpr double kPromotionFactor = 1.18;

/// Products for each element that is loaded, for a tile of a block or a warp.
static double getIntensity(double m, double n) { return m * n / (m + n); }

/// Seconds of the whole GPU for one column of x and w and one result. To the
/// time of the products come the column's shares of copies to shared memory,
/// fewer in larger tiles, and of loads from there, fewer in larger parts of a
/// warp. The constants are fitted to bf16 on an H200: 0.79 of mma.sync's rate
/// for 128x256 by 2x4 warps and 0.63 for 128x128 by 2x4, means of M x N x K =
/// 1024x8192x8192, 16384x4096x4096 and 8192x8192x8192, and 0.63 for 64x256 by
/// 1x4 at 128x16384x16384. tf32 is within 6 % of the first. For fused
/// multiply-adds, which take so long that copies do not show, they are
/// estimates.
static double getColumnSeconds(const LayerProblem &problem,
                               ScheduleAttr schedule,
                               const TargetSpec &target) {
  ArrayRef<int64_t> tile = schedule.getTile(), warps = schedule.getWarps();
  double block = getIntensity(tile[0], tile[1]);
  double warp = getIntensity(static_cast<double>(tile[0]) / warps[0],
                             static_cast<double>(tile[1]) / warps[1]);
  double operations = problem.getOperations();
  if (problem.method == ProductMethod::FMA)
    return operations * (1.2 + 5 / warp) / target.fmaRate;
  double rate = problem.tiledType.isF32() ? target.mmaSyncRate.tf32
                                          : target.mmaSyncRate.bits16;
  double seconds = (operations * 0.48 + 2 * (41 / block + 10 / warp)) / rate;
  if (problem.method == ProductMethod::FP16x3)
    seconds *= kPromotionFactor;
  // Half the row: twice as many barriers, of which one costs about 5 %.
  return schedule.getSwizzle() == 128 ? seconds : seconds / 0.95;
}

static double getTiles(const LayerProblem &problem, ScheduleAttr schedule) {
  return static_cast<double>(
             llvm::divideCeil(problem.m, schedule.getTile()[0])) *
         llvm::divideCeil(problem.n, schedule.getTile()[1]);
}

/// Tiles of one full wave.
static double getResident(ScheduleAttr schedule, const TargetSpec &target) {
  return static_cast<double>(target.multiprocessors * schedule.getBlocks());
}

/// Seconds of the products. Without stream-K the last wave takes as long as the
/// others; with it, it takes its share, but partial tiles are written and read,
/// mostly in L2, which is counted as one pass through memory.
static double predictProducts(const LayerProblem &problem,
                              ScheduleAttr schedule, const TargetSpec &target) {
  ArrayRef<int64_t> tile = schedule.getTile();
  double resident = getResident(schedule, target);
  double steps = llvm::divideCeil(problem.getTiledColumns(), tile[2]);
  double elements = static_cast<double>(tile[0]) * tile[1];
  double wave = elements * steps * tile[2] * resident *
                getColumnSeconds(problem, schedule, target);
  double waves = getTiles(problem, schedule) / resident;
  double full = std::floor(waves), rest = waves - full;
  if (rest == 0)
    return waves * wave;
  if (!schedule.getStreamK())
    return (full + 1) * wave;
  double partialBytes = 4 * elements * resident;
  // A block has a step of K at least.
  return (full + std::max(rest, 1 / steps)) * wave +
         partialBytes / target.memoryRate;
}

/// What a kernel takes besides products and memory: to fill the stages, to turn
/// the accumulators, to exchange partial tiles. Small layers on an H200 took 1
/// to 6 us more than was predicted without it (benchmarks/results/auto.json).
static constexpr double kTurnSeconds = 4e-6;

static double predictKernel(const LayerProblem &problem, ScheduleAttr schedule,
                            const TargetSpec &target) {
  double products = predictProducts(problem, schedule, target);
  double memory = problem.getTiledBytes() / target.memoryRate;
  // They overlap, but for the first loads and the last stores: a twelfth,
  // fitted to M = 128 with N = K = 16384 and 32768 on an H200, where both take
  // about as long. Predictions there are within 3 % of what was measured for
  // tiles of 128x256, and 9 % above it for 128x128.
  return kLaunchSeconds + kTurnSeconds + std::max(products, memory) +
         std::min(products, memory) / 12 +
         predictOthers(problem, schedule, target);
}

Prediction tenon::predictMmaSync(const LayerProblem &problem,
                                 ScheduleAttr schedule,
                                 const TargetSpec &target) {
  return {&target, getTiles(problem, schedule) / getResident(schedule, target),
          predictKernel(problem, schedule, target),
          predictLibrary(problem, target)};
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

namespace {
/// A tile and its warps. Those that measured best come first: of two that are
/// predicted the same time, the first is taken.
struct Candidate {
  int64_t m, n, warpsM, warpsN;
};
} // namespace

static constexpr Candidate kCandidates[] = {
    {128, 256, 2, 4}, {256, 128, 4, 2}, {128, 128, 2, 4}, {64, 256, 2, 4},
    {64, 128, 2, 4},  {128, 64, 4, 2},  {32, 256, 1, 8},  {64, 64, 2, 2},
    {32, 128, 1, 4},  {16, 128, 1, 4},
};
/// Those of fp16x3 and fma, which have sums and partial sums: parts of a warp
/// have 64x32 elements at most.
static constexpr Candidate kPromotedCandidates[] = {
    {128, 128, 2, 4}, {64, 256, 1, 8}, {64, 128, 2, 4}, {128, 64, 4, 2},
    {64, 64, 2, 2},   {32, 128, 1, 4}, {16, 128, 1, 4},
};

/// Stages: 3 are best for the largest tiles, 4 for others where they fit.
static constexpr int64_t kStages[] = {4, 3};
static constexpr int64_t kRaster = 16;

/// Whether the accumulators leave registers enough: rows that are not multiples
/// of 16 bytes are copied in parts, and finished and stored in parts too.
static bool fitsRegisters(const LayerProblem &problem,
                          const Candidate &candidate) {
  int64_t accumulators =
      candidate.m * candidate.n / (32 * candidate.warpsM * candidate.warpsN);
  int64_t rowBytes =
      problem.getTiledColumns() * problem.tiledType.getIntOrFloatBitWidth() / 8;
  return accumulators <= 64 || (rowBytes % 16 == 0 && problem.n % 4 == 0);
}

/// The schedule of a candidate with rows of `swizzle` bytes; null if a target
/// cannot take it. It always has stream-K: the kernel sees at the launch
/// whether there is an incomplete wave to divide, and pays nothing where there
/// is none.
static ScheduleAttr buildSchedule(const LayerProblem &problem,
                                  const Candidate &candidate, int64_t swizzle,
                                  ArrayRef<const TargetSpec *> targets) {
  Type type = problem.tiledType;
  int64_t tile[] = {candidate.m, candidate.n,
                    swizzle * 8 / type.getIntOrFloatBitWidth()};
  int64_t warps[] = {candidate.warpsM, candidate.warpsN};
  for (int64_t stages : kStages) {
    if (stages > 3 && candidate.m + candidate.n >= 384)
      continue;
    auto schedule = ScheduleAttr::get(type.getContext(), KernelFamily::MmaSync,
                                      tile, warps, stages, swizzle, kRaster,
                                      /*blocks=*/1, /*streamK=*/true,
                                      /*cluster=*/{}, /*pingPong=*/false,
                                      problem.method, problem.reduction);
    if (llvm::all_of(targets, [&](const TargetSpec *target) {
          return findProblem(schedule, type, *target).empty();
        }))
      return schedule;
  }
  return {};
}

std::optional<ScheduleChoice>
tenon::chooseMmaSync(const LayerProblem &problem,
                     ArrayRef<const TargetSpec *> targets) {
  std::optional<ScheduleChoice> best;
  bool isPromoted = problem.method == ProductMethod::FP16x3 ||
                    problem.method == ProductMethod::FMA;
  for (int64_t swizzle : {128, 64})
    for (const Candidate &candidate :
         isPromoted ? ArrayRef(kPromotedCandidates) : ArrayRef(kCandidates)) {
      // Rows of 64 bytes would have hi and lo in tiles of their own.
      if (!fitsRegisters(problem, candidate) || (isPromoted && swizzle != 128))
        continue;
      ScheduleAttr schedule =
          buildSchedule(problem, candidate, swizzle, targets);
      if (!schedule)
        continue;
      ScheduleChoice choice = predictSchedule(problem, schedule, targets);
      if (!best || choice.getWorstRatio() < best->getWorstRatio())
        best = std::move(choice);
    }
  return best;
}
