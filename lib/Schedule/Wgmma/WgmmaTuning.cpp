//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists the schedules of family wgmma that are worth measuring.
//
//===----------------------------------------------------------------------===//

#include "WgmmaTuning.h"

#include "Schedule/Prediction/ScheduleChoice.h"
#include "WgmmaCandidates.h"
#include "WgmmaEpilogueTime.h"

#include "tenon/Schedule/Wgmma/WgmmaSchedule.h"

using namespace mlir;
using namespace mlir::tenon;

/// Rows, or with swapped operands columns, of a warpgroup's wgmma.
static constexpr int64_t kWgmmaRows = 64;
static constexpr int64_t kLeastStages = 2, kMostStages = 12;
/// Extents of tiles along the other axis.
static constexpr int64_t kLeastExtent = 64, kMostExtent = 256;
/// Of M, up to which tiles with swapped operands have all rows or half.
static constexpr int64_t kFewRows = 256;
static constexpr std::array<int64_t, 2> kClusters[] = {{2, 1}, {1, 2}, {1, 1}};
/// Rasters beside the usual one. No prediction tells them apart; each counts as
/// so much longer than the one before.
static constexpr int64_t kRasters[] = {8, 12, 16, 4, 32};
static constexpr double kRasterFactor = 1.04;
/// Stages of K at least in which the next tile's products hide what was
/// deferred.
static constexpr int64_t kLeastDeferredSteps = 32;
/// Of epilogues, what that hides; roughly, and for the order alone.
static constexpr double kDeferredShare = 0.5;

namespace {
/// The warpgroups of a tile, and the wgmmas of each along it.
struct Form {
  int64_t warpgroups, wgmmas;
  bool pingPong;

  int64_t getExtent() const { return kWgmmaRows * warpgroups * wgmmas; }
};

class Ranking {
public:
  Ranking(const LayerProblem &problem, ArrayRef<const TargetSpec *> targets)
      : problem(problem), targets(targets) {}

  /// Adds the schedules of all clusters, rasters and numbers of stages.
  void addTile(const Form &form, bool isSwapped, int64_t m, int64_t n);

  SmallVector<RankedSchedule> schedules;

private:
  void addStages(ScheduleParameters parameters, double factor);
  void addWork(ScheduleParameters parameters, double factor);
  bool mayDefer(ScheduleAttr schedule) const;
  /// Returns the rank, or 0 where a target cannot take it.
  double add(const ScheduleParameters &parameters, double factor);

  const LayerProblem &problem;
  ArrayRef<const TargetSpec *> targets;
};
} // namespace

static constexpr Form kForms[] = {{2, 1, false}, {2, 2, false}, {1, 1, true},
                                  {1, 2, true},  {1, 3, true},  {1, 1, false}};
static constexpr Form kFewRowForms[] = {
    {1, 1, false}, {1, 2, false}, {1, 3, false}, {2, 1, false}, {2, 2, false}};

static int64_t roundUp(int64_t extent, int64_t step) {
  return static_cast<int64_t>(llvm::alignTo(extent, step));
}

double Ranking::add(const ScheduleParameters &parameters, double factor) {
  ScheduleAttr schedule = buildWgmmaSchedule(problem, parameters, targets);
  if (!schedule)
    return 0;
  ScheduleChoice choice = predictSchedule(problem, schedule, targets);
  for (Prediction &prediction : choice.predictions)
    if (parameters.defer)
      prediction.seconds -= kDeferredShare * std::ceil(prediction.waves) *
                            predictWgmmaEpilogue(problem, schedule);
  double rank = factor * choice.getWorstRatio();
  schedules.push_back({schedule, rank});
  return rank;
}

/// Whether a thread block has next tiles, whose products are long.
bool Ranking::mayDefer(ScheduleAttr schedule) const {
  ScheduleChoice choice = predictSchedule(problem, schedule, targets);
  return schedule.hasSwappedOperands() &&
         problem.getTiledColumns() / schedule.getTile()[2] >=
             kLeastDeferredSteps &&
         llvm::any_of(choice.predictions, [](const Prediction &prediction) {
           return prediction.waves > 1;
         });
}

/// Stream-K is for waves that are so far from whole that it divides them.
void Ranking::addWork(ScheduleParameters parameters, double factor) {
  double plain = add(parameters, factor);
  if (mayDefer(schedules.back().schedule)) {
    parameters.defer = true;
    add(parameters, factor);
    parameters.defer = false;
  }
  parameters.streamK = true;
  if (add(parameters, factor) == plain)
    schedules.pop_back();
}

/// As many stages as fit; with ping-pong also as many as fit beside an epilogue
/// that has as much memory as others.
void Ranking::addStages(ScheduleParameters parameters, double factor) {
  for (parameters.stages = kMostStages; parameters.stages >= kLeastStages;
       --parameters.stages) {
    ScheduleAttr schedule = buildWgmmaSchedule(problem, parameters, targets);
    if (!schedule)
      continue;
    addWork(parameters, factor);
    if (getWarpgroupEpilogueBytes(schedule) == kWarpgroupEpilogueBytes)
      return;
  }
}

void Ranking::addTile(const Form &form, bool isSwapped, int64_t m, int64_t n) {
  ScheduleParameters parameters =
      getWgmmaParameters(problem, m, n, 4 * form.warpgroups, isSwapped);
  parameters.pingPong = form.pingPong;
  int64_t rows = llvm::divideCeil(problem.m, m);
  for (std::array<int64_t, 2> cluster : kClusters) {
    bool isFilled =
        problem.m > (cluster[0] - 1) * m && problem.n > (cluster[1] - 1) * n;
    if (!isFilled)
      continue;
    parameters.cluster = cluster;
    // One group of all rows is as good as another.
    SmallVector<int64_t> groups;
    double factor = 1;
    for (int64_t raster : kRasters) {
      int64_t group = std::min(raster, rows);
      if (!llvm::is_contained(groups, group)) {
        parameters.raster = raster;
        addStages(parameters, factor);
      }
      groups.push_back(group);
      factor *= kRasterFactor;
    }
  }
}

/// Tiles of a form, the widest first; those that are narrower than most only
/// where there is no more to compute.
static void addForm(Ranking &ranking, const LayerProblem &problem,
                    const Form &form, bool isSwapped) {
  // Split products have small tiles, so finer steps.
  int64_t step = getTraits(problem.method).hasPartialSums ? 8 : 16;
  int64_t extent = isSwapped ? problem.m : problem.n;
  int64_t most = std::min(kMostExtent, roundUp(extent, step));
  for (int64_t across = most; across >= std::min(kLeastExtent, most);
       across -= step)
    ranking.addTile(form, isSwapped, isSwapped ? across : form.getExtent(),
                    isSwapped ? form.getExtent() : across);
}

SmallVector<RankedSchedule>
tenon::rankWgmmaSchedules(const LayerProblem &problem,
                          ArrayRef<const TargetSpec *> targets) {
  Ranking ranking(problem, targets);
  bool hasFewRows = problem.m <= kFewRows;
  for (const Form &form : kForms) {
    if (!hasFewRows)
      addForm(ranking, problem, form, /*isSwapped=*/true);
    addForm(ranking, problem, form, /*isSwapped=*/false);
  }
  if (!hasFewRows)
    return std::move(ranking.schedules);
  int64_t all = roundUp(problem.m, 8);
  int64_t half = roundUp(llvm::divideCeil(problem.m, 2), 8);
  for (const Form &form : kFewRowForms) {
    ranking.addTile(form, /*isSwapped=*/true, all, form.getExtent());
    if (half != all)
      ranking.addTile(form, /*isSwapped=*/true, half, form.getExtent());
  }
  return std::move(ranking.schedules);
}
