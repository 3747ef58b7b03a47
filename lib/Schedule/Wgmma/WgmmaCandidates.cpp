//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists the schedules of family wgmma that are considered.
//
//===----------------------------------------------------------------------===//

#include "WgmmaCandidates.h"

#include "Schedule/Prediction/ScheduleChoice.h"
#include "WgmmaEpilogueTime.h"
#include "WgmmaHeuristics.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// A tile's rows, and the warps that multiply it: along M, or with swapped
/// operands N.
struct Form {
  int64_t m, warps;
  bool pingPong;
  bool isSwapped = false;
  bool defers = false;
};
} // namespace

// In order of what is expected to be best: of two candidates that are predicted
// about the same time, the first is taken.
static constexpr Form kForms[] = {
    {128, 8, false}, {256, 8, false}, {128, 4, false}, {64, 4, false},
    {64, 4, true},   {128, 4, true},  {192, 4, true},
};
// Forms for fp16x3, with sums and partial sums in registers; ping-pong is left
// to schedules that are measured.
static constexpr Form kSplitForms[] = {
    {128, 8, false}, {64, 4, false}, {256, 8, false}, {128, 4, false}};
/// Columns of a tile: after the usual ones those with which tiles fill whole
/// waves more often.
static constexpr int64_t kColumns[] = {256, 128, 192, 64,  224, 160, 96, 240,
                                       208, 176, 144, 112, 80,  48,  32};
/// Columns of a tile for fp16x3.
static constexpr int64_t kSplitColumns[] = {192, 184, 176, 168, 160, 152, 144,
                                            136, 128, 120, 112, 104, 96,  88,
                                            80,  72,  64,  48,  32};
/// Where blocks of w have scales, so many columns at least share one.
static constexpr int64_t kScaledColumns = 32;
/// Form and columns for fp16x3 where one row of tiles, of 64 rows, has all of
/// M: narrow tiles, since what is copied of x weighs then.
static constexpr Form kFewRowForm{64, 4, false};
static constexpr int64_t kFewRowColumns[] = {128, 96, 64, 48, 32};
/// Columns of a tile with swapped operands and few rows, by 4 warps: wider
/// tiles and 8 warps are no faster (sm90a_swapped.json,
/// sm90a_few_rows_auto.json).
static constexpr int64_t kSwappedColumns = 64;
/// Tiles with swapped operands of large layers: M and N, with ping-pong or by
/// two warpgroups together. For 1024 to 16384 rows of 16 bits the large ones
/// are the fastest (sm90a_swapped_large.json); narrower ones fill waves.
static constexpr struct {
  int64_t m, n;
  bool pingPong;
} kLargeSwapped[] = {
    {256, 128, false}, {192, 256, false}, {176, 256, false}, {160, 256, false},
    {144, 256, false}, {128, 256, false}, {192, 128, true},  {176, 128, true},
    {160, 128, true},  {144, 128, true},  {128, 128, true},  {128, 192, true},
};
/// Rows of such tiles for fp16x3, all of 128 columns and by two warpgroups
/// together.
static constexpr int64_t kLargeSwappedSplit[] = {192, 176, 160, 144, 128};
/// The tile that is held from turn to turn; turns of 128x256 take 4 us longer.
static constexpr int64_t kHeldRows = 256, kHeldColumns = 128;
/// One of two products that is held.
static constexpr int64_t kDeferredPairRows = 128, kDeferredPairColumns = 128;
/// K tiles at least in which what is held of a pair is finished.
static constexpr int64_t kLeastDeferredTiles = 32;
static constexpr int64_t kLeastLargeRows = 1024;
/// Of a dynamic M, which may be small, a tile has as many rows as others have.
static constexpr int64_t kMaxDynamicRows = 128;
/// Clusters, for tiles that are taller than wide the other way round: what the
/// blocks share should be the larger part.
using Cluster = std::array<int64_t, 2>;
static constexpr Cluster kClusters[] = {{2, 1}, {1, 1}, {1, 2}};
static constexpr int64_t kMaxStages = 12;
/// Of swapped tiles of few rows of several layers: with 12 q, k and v of 8 rows
/// of 4096 took 16.2 us on an H200, with 8 14.0, and two products of 11008 44.4
/// and 43.9. One product of 4096x11008 took 23.8 and 29.1.
static constexpr int64_t kMaxSharedStages = 8;
/// Rows of a group of tiles: with them, blocks that run at once read about as
/// many rows of x as of w.
static constexpr int64_t kRasterRows = 2048;
/// Accumulators of a thread at most where no other warpgroup's products hide
/// what a large tile waits for; with swapped operands more were faster.
static constexpr int64_t kMaxAccumulators = 128;
/// Where TMA cannot store the results: elements that are finished one by one
/// take registers.
static constexpr int64_t kMaxUnalignedAccumulators = 64;

/// Whether a cluster has more than one tile to share copies between.
static bool fillsCluster(const LayerProblem &problem, const Form &form,
                         int64_t columns, Cluster cluster) {
  return problem.m > (cluster[0] - 1) * form.m &&
         problem.n > (cluster[1] - 1) * columns;
}

static int64_t getRaster(int64_t tileRows, Cluster cluster) {
  return std::max<int64_t>(kRasterRows / (tileRows * cluster[0]), 1);
}

/// Whether a thread has registers for a tile; those that findProblem refuses
/// aside.
static bool fitsRegisters(const LayerProblem &problem, ScheduleAttr schedule) {
  ArrayRef<int64_t> tile = schedule.getTile();
  // Split products' partial sums come to them; findProblem counts both.
  int64_t accumulators =
      tile[0] * tile[1] * schedule.getWeights() / schedule.getNumThreads();
  bool mayHaveMore = schedule.getPingPong() || schedule.hasSwappedOperands();
  if (!mayHaveMore && accumulators > kMaxAccumulators)
    return false;
  if (problem.n % 8 == 0)
    return true;
  // Two rows of wgmmas with partial sums spilled there.
  return accumulators <= kMaxUnalignedAccumulators &&
         (!getTraits(problem.method).hasPartialSums ||
          tile[0] / schedule.getNumWarps() <= 16);
}

ScheduleParameters tenon::getWgmmaParameters(const LayerProblem &problem,
                                             int64_t m, int64_t n,
                                             int64_t warps, bool isSwapped) {
  constexpr int64_t swizzle = 128;
  int64_t k = swizzle * 8 / problem.tiledType.getIntOrFloatBitWidth();
  ScheduleParameters parameters{.family = KernelFamily::Wgmma,
                                .tile = {m, n, k},
                                .warps = {warps, 1},
                                .swizzle = swizzle,
                                .blocks = 1,
                                .weights = problem.weights,
                                .siblings = problem.siblings,
                                .method = problem.method,
                                .reduction = problem.reduction};
  if (isSwapped)
    std::swap(parameters.warps[0], parameters.warps[1]);
  return parameters;
}

ScheduleAttr tenon::buildWgmmaSchedule(const LayerProblem &problem,
                                       const ScheduleParameters &parameters,
                                       ArrayRef<const TargetSpec *> targets) {
  auto schedule = ScheduleAttr::get(problem.tiledType.getContext(), parameters);
  bool isGood =
      fitsRegisters(problem, schedule) && canRun(problem, schedule, targets);
  return isGood ? schedule : ScheduleAttr();
}

/// The schedule with as many stages as fit all targets; null if none do. With
/// ping-pong a light epilogue does with less memory, for one stage more, and so
/// does one whose operand and result share it: 8192x16384x4096 with a gate and
/// sums took 1526 us with five stages of 192x128, 1560 with four (an H200,
/// 2026-11-29). `isRoomy`: with fewer, so that the epilogue has the more.
static ScheduleAttr buildSchedule(const LayerProblem &problem, const Form &form,
                                  int64_t columns, Cluster cluster,
                                  bool streamK,
                                  ArrayRef<const TargetSpec *> targets,
                                  bool isRoomy = false) {
  Type type = problem.tiledType;
  ScheduleParameters parameters =
      getWgmmaParameters(problem, form.m, columns, form.warps, form.isSwapped);
  parameters.raster = getRaster(form.m, cluster);
  parameters.streamK = streamK;
  parameters.cluster = cluster;
  parameters.pingPong = form.pingPong;
  parameters.defer = form.defers;
  auto build = [&](int64_t stages) {
    parameters.stages = stages;
    return ScheduleAttr::get(type.getContext(), parameters);
  };
  bool isShared = form.isSwapped && isFewRows(problem) &&
                  problem.weights * problem.siblings != 1;
  const int64_t mostStages = isShared ? kMaxSharedStages : kMaxStages;
  ScheduleAttr schedule = build(2);
  int64_t otherBytes = getSharedBytes(schedule) - 2 * getStageBytes(schedule);
  if (!isRoomy && getWarpgroupEpilogueBytes(schedule) == kRoomyEpilogueBytes)
    otherBytes -= getConsumerWarpgroups(schedule) *
                  (kRoomyEpilogueBytes - kWarpgroupEpilogueBytes);
  int64_t stages = mostStages;
  for (const TargetSpec *target : targets)
    stages = std::min(stages, (target->sharedBytesPerBlock - otherBytes) /
                                  getStageBytes(schedule));
  ScheduleAttr larger = build(stages + 1);
  bool fits = llvm::all_of(targets, [&](const TargetSpec *target) {
    return findProblem(larger, type, *target).empty();
  });
  // Two warpgroups with a tile each have not more than their K tiles to copy.
  int64_t useful =
      2 * llvm::divideCeil(problem.getTiledColumns(), parameters.tile[2]);
  bool needsLess = problem.epilogue == EpilogueClass::Light ||
                   sumsInRegisters(problem, schedule);
  bool isUseful =
      stages < std::min(mostStages, useful) && needsLess && !isRoomy;
  parameters.stages = fits && isUseful ? stages + 1 : stages;
  return buildWgmmaSchedule(problem, parameters, targets);
}

/// Whether sums are of so many operands that the usual memory of an epilogue
/// leaves their subtiles few rows.
static bool hasManyMatrices(const LayerProblem &problem) {
  return problem.givesSums && problem.matrixBytes.size() > 2;
}

/// Schedules of one tile. Stream-K is for waves that are not whole, which they
/// may be or not where M is dynamic.
static void addCandidates(const LayerProblem &problem, const Form &form,
                          int64_t columns, ArrayRef<const TargetSpec *> targets,
                          SmallVectorImpl<ScheduleAttr> &candidates) {
  if (problem.hasBlockScales && columns % kScaledColumns != 0)
    return;
  // Tiles that wait for others come in whole turns; siblings have none.
  bool mayHaveAnyWave = problem.hasDynamicRows && problem.siblings == 1 &&
                        problem.reduction != ReductionMethod::Resident &&
                        problem.reduction != ReductionMethod::ResidentRows;
  for (const Cluster &wide : kClusters)
    for (bool streamK : {false, true}) {
      Cluster cluster = wide;
      if (form.m > problem.weights * columns)
        std::swap(cluster[0], cluster[1]);
      // With swapped operands it was not faster.
      bool isLeftOut = mayHaveAnyWave ? !streamK : streamK && form.isSwapped;
      if (isLeftOut || !fillsCluster(problem, form, columns, cluster))
        continue;
      if (ScheduleAttr schedule =
              buildSchedule(problem, form, columns, cluster, streamK, targets))
        candidates.push_back(schedule);
      if (!hasManyMatrices(problem) || !form.pingPong || !form.isSwapped)
        continue;
      if (ScheduleAttr schedule = buildSchedule(problem, form, columns, cluster,
                                                streamK, targets, true))
        candidates.push_back(schedule);
    }
}

/// With swapped operands a tile has hardly more rows than there are. More than
/// a wave of them was no faster than the library for 4x11008x4096 and
/// 48x14336x4096, but two products were, with 8x11008x4096 in 0.78 of the time
/// of two kernels, and blocks sharing the last tiles (43.9 us; 46.0 without).
/// Siblings have no wave to fill: a block has one tile. Tiles that are reduced
/// were not measured.
static void addSwappedCandidates(const LayerProblem &problem,
                                 ArrayRef<const TargetSpec *> targets,
                                 SmallVectorImpl<ScheduleAttr> &candidates) {
  if (!isFewRows(problem) || problem.reduction == ReductionMethod::TwoPhase ||
      problem.reduction == ReductionMethod::Resident)
    return;
  int64_t tiles = llvm::divideCeil(problem.n, kSwappedColumns);
  bool isWave = llvm::all_of(targets, [&](const TargetSpec *target) {
    return tiles <= target->multiprocessors;
  });
  bool sharesTiles = !isWave && problem.weights != 1;
  if (!isWave && !sharesTiles && problem.siblings == 1)
    return;
  Form form{static_cast<int64_t>(llvm::alignTo(problem.m, 8)), /*warps=*/4,
            /*pingPong=*/false, /*isSwapped=*/true};
  for (bool streamK : {false, true}) {
    if (sharesTiles && !streamK)
      continue;
    if (ScheduleAttr schedule =
            buildSchedule(problem, form, kSwappedColumns, /*cluster=*/{1, 1},
                          streamK, targets))
      candidates.push_back(schedule);
  }
}

/// Whether two products are finished beside those of the next tile.
static bool mayDeferPair(const LayerProblem &problem) {
  int64_t tileK = 1024 / problem.tiledType.getIntOrFloatBitWidth();
  return problem.weights != 1 && !problem.hasDynamicRows &&
         problem.k >= kLeastDeferredTiles * tileK;
}

/// What large layers gain is power, so the clock. Elements that are finished
/// one by one spill with such tiles; tf32 as it is was not measured.
static void
addLargeSwappedCandidates(const LayerProblem &problem,
                          ArrayRef<const TargetSpec *> targets,
                          SmallVectorImpl<ScheduleAttr> &candidates) {
  // Each thread has two rows of x's scales, and columns share those of w.
  if (problem.m < kLeastLargeRows || problem.n % 8 != 0 ||
      problem.hasBlockScales)
    return;
  auto isShort = [&](int64_t m) {
    return !problem.hasDynamicRows || m <= kMaxDynamicRows;
  };
  if (getTraits(problem.method).hasPartialSums)
    for (int64_t m : llvm::make_filter_range(kLargeSwappedSplit, isShort))
      addCandidates(problem,
                    {m / problem.weights, /*warps=*/8, /*pingPong=*/false,
                     /*isSwapped=*/true},
                    /*columns=*/128, targets, candidates);
  if (problem.method != ProductMethod::Direct || problem.tiledType.isF32())
    return;
  for (auto [m, n, pingPong] : kLargeSwapped)
    if (isShort(m))
      addCandidates(problem,
                    {m, pingPong ? 4 : 8, pingPong, /*isSwapped=*/true},
                    n / problem.weights, targets, candidates);
  if (mayDeferPair(problem))
    addCandidates(problem,
                  {kDeferredPairRows, /*warps=*/8, /*pingPong=*/false,
                   /*isSwapped=*/true, /*defers=*/true},
                  kDeferredPairColumns, targets, candidates);
  if (mayHold(problem))
    addCandidates(problem,
                  {kHeldRows, /*warps=*/8, /*pingPong=*/false,
                   /*isSwapped=*/true, /*defers=*/true},
                  kHeldColumns, targets, candidates);
}

static SmallVector<ScheduleAttr>
listFewSplitRows(const LayerProblem &problem,
                 ArrayRef<const TargetSpec *> targets) {
  SmallVector<ScheduleAttr> candidates;
  for (int64_t columns : kFewRowColumns)
    if (ScheduleAttr schedule =
            buildSchedule(problem, kFewRowForm, columns, /*cluster=*/{1, 1},
                          /*streamK=*/true, targets))
      candidates.push_back(schedule);
  return candidates;
}

SmallVector<ScheduleAttr>
tenon::listWgmmaSchedules(const LayerProblem &problem,
                          ArrayRef<const TargetSpec *> targets) {
  bool hasSums = getTraits(problem.method).hasPartialSums;
  if (hasSums && problem.m <= kFewRowForm.m && !problem.hasDynamicRows)
    return listFewSplitRows(problem, targets);
  ArrayRef<Form> forms = hasSums ? ArrayRef(kSplitForms) : ArrayRef(kForms);
  // Two warpgroups share a tile where it waits for others: kForms begins so.
  if (problem.reduction == ReductionMethod::Resident)
    forms = forms.take_front(2);
  SmallVector<ScheduleAttr> candidates;
  // Where tiles have as many rows either way, swapped ones come first.
  if (problem.hasDynamicRows)
    addLargeSwappedCandidates(problem, targets, candidates);
  for (int64_t columns : hasSums ? ArrayRef(kSplitColumns) : ArrayRef(kColumns))
    for (const Form &form : forms)
      addCandidates(problem, form, columns, targets, candidates);
  addSwappedCandidates(problem, targets, candidates);
  if (!problem.hasDynamicRows)
    addLargeSwappedCandidates(problem, targets, candidates);
  if (!hasSums)
    return candidates;
  // With so many widths of tiles, waves are nearly whole without stream-K too.
  SmallVector<ScheduleAttr> ordered;
  for (bool streamK : {false, true})
    llvm::copy_if(candidates, std::back_inserter(ordered),
                  [&](ScheduleAttr schedule) {
                    return schedule.getStreamK() == streamK;
                  });
  return ordered;
}
