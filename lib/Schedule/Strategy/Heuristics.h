//===- Heuristics.h - Predicted times and chosen schedules ------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_STRATEGY_HEURISTICS_H
#define TENON_LIB_SCHEDULE_STRATEGY_HEURISTICS_H

#include "tenon/Schedule/Checks/Schedule.h"
#include "tenon/Schedule/Wgmma/TunedSchedules.h"

namespace mlir::tenon {

/// What the prediction of times knows of a layer.
struct LayerProblem {
  int64_t m; ///< kAssumedRows where it is dynamic
  bool hasDynamicRows = false;
  int64_t n, k;
  /// Of x and w, as the model has them and as a tiled kernel reads them.
  Type libraryType, tiledType;
  /// Whether f32 has to be multiplied as precision fp32 asks.
  bool isFp32 = false;
  /// How a tiled kernel multiplies.
  ProductMethod method = ProductMethod::Direct;
  /// Bytes of the bare product, as the library writes it.
  double productBytes = 0;
  /// Whether a training batch norm follows, how a tiled kernel is to reduce for
  /// it, bytes of what is reduced, and whether that reads an operand with rows.
  bool hasNorm = false;
  ReductionMethod reduction = ReductionMethod::Separate;
  double reducedBytes = 0;
  bool reducesRowOperand = false;
  /// Unless null, the layer: then only schedules run by which it can be reduced
  /// (findReductionProblem).
  FusedLinearOp reduced;
  /// Whether the epilogue reads an operand with one value a row.
  bool hasRowValues = false;
  /// Bytes of the epilogue's operands and of the results.
  double epilogueBytes = 0;
  /// Bytes of an element of each [M, N] operand and result of a tiled kernel's
  /// epilogue.
  SmallVector<int64_t> matrixBytes;
  /// Of a tiled kernel.
  EpilogueClass epilogue = EpilogueClass::Light;
  /// Bytes read and written in each call to round or split x and w, or to give
  /// them the tiled type. Kernels of family wgmma round as they copy.
  double fitBytes = 0;
  /// Whether the library's own epilogue computes the whole layer, and whether
  /// that has an activation.
  bool libraryDoesAll = true, libraryActivates = false;
  /// Whether a tiled kernel's does; if not, it writes the bare product, or what
  /// is reduced.
  bool tiledDoesAll = true;

  /// Columns of x and w as a tiled kernel reads them.
  int64_t getTiledColumns() const;
  /// Products and sums, counted as two, for each of them and each result.
  double getOperations() const;
  /// Bytes of x and w as a tiled kernel reads them, and of all that it reads
  /// and writes.
  double getOperandBytes() const;
  double getTiledBytes() const;
};

/// The batch that a dynamic M is taken for.
inline constexpr int64_t kAssumedRows = 1024;
/// Seconds from a kernel's end to the next one's start.
inline constexpr double kLaunchSeconds = 2e-6;

/// Seconds to read or write so many bytes, of which L2 may still have a part.
double predictMemory(double bytes, const TargetSpec &target);

/// The same where reading is nearly all, and L2 is read so much faster: of what
/// it still has from the call before, bytes that are more than its part leave
/// less, and the double nothing.
double predictReads(double bytes, const TargetSpec &target, double l2Factor);

/// Seconds that cuBLASLt and an epilogue kernel take.
double predictLibrary(const LayerProblem &problem, const TargetSpec &target);
/// Seconds of the epilogue kernels after a product: after one that gives the
/// reduction's moments with two_phase, after a bare one with separate.
double predictRest(const LayerProblem &problem, const TargetSpec &target,
                   ReductionMethod reduction);

/// Seconds of the kernels that have a product's moments of x and w.
double predictInputMoments(const LayerProblem &problem,
                           const TargetSpec &target);

/// What a schedule comes to on one target.
struct Prediction {
  const TargetSpec *target;
  double waves;            ///< tiles, in rounds of all resident blocks
  double seconds, library; ///< predicted, of the kernel and of the library
};

/// A schedule that all targets can take, and what it comes to on each.
struct ScheduleChoice {
  ScheduleAttr schedule;
  SmallVector<Prediction> predictions;
  bool isTuned = false; ///< from the table of measured schedules

  /// The largest ratio of the kernel's time to the library's.
  double getWorstRatio() const;
};

/// Seconds of the kernels beside a tiled one: those that make x and w fit it,
/// the one that guards split products, the one that does what it leaves.
double predictOthers(const LayerProblem &problem, ScheduleAttr schedule,
                     const TargetSpec &target);

/// With reduction = resident: what a turn's wait for the states of the column's
/// other tiles takes. A prototype on an H200 took 10 us longer than without for
/// 1024x8192x8192, in 2 turns, and 80 to 100 us for 16384x4096x4096, in 16.
inline constexpr double kExchangeSeconds = 5e-6;
/// The same where it happens beside the next turn: what is left between turns,
/// and after the last one. Beside the time above, these give what such kernels
/// of bf16 gained on an H200 (benchmarks/results/sm90a_defer.json):
/// 1024x8192x8192, in 2 turns, lost 1.5 us, and 8192x8192x2048, in 16, won 34.
inline constexpr double kHoldSeconds = 3.6e-6, kLastHoldSeconds = 9e-6;
/// Whether tiles are held from one turn to the next as resident with defer does
/// it, where that was measured: matrices of 16 bits, a light epilogue, and K so
/// long that an exchange is hidden.
bool mayHold(const LayerProblem &problem);
/// The turns in which all columns are computed, as many at a time as have all
/// of their row tiles at work at once.
double getTurns(const LayerProblem &problem, ScheduleAttr schedule,
                const TargetSpec &target);
/// Whether all row tiles of a column are at work at once, as reduction =
/// resident asks.
bool fitsTurn(const LayerProblem &problem, ScheduleAttr schedule,
              const TargetSpec &target);

/// Whether all targets can run it, and have room for a turn where tiles wait
/// for each other.
bool canRun(const LayerProblem &problem, ScheduleAttr schedule,
            ArrayRef<const TargetSpec *> targets);

/// What stream-K takes to leave a partial tile, to wait for another block's,
/// and bytes of them a second for the whole GPU.
struct ExchangeTimes {
  double publish, wait, rate;

  /// Seconds for tiles of so many parts to pass through L2: the block that has
  /// a tile's end reads the parts of all others, one after the other.
  double predict(ScheduleAttr schedule, double parts,
                 const TargetSpec &target) const;
};

/// Predicts a given schedule, of any family.
ScheduleChoice predictSchedule(const LayerProblem &problem,
                               ScheduleAttr schedule,
                               ArrayRef<const TargetSpec *> targets);

/// Whether kernels of family mma_sync may be faster than the library where that
/// has wgmma: for rows that one mma.sync holds, where reading w is all. Of x
/// and w in 16 bits, copied 16 bytes at a time: split products of so few rows
/// were not measured.
bool isForMmaSync(const LayerProblem &problem);

/// Whether wgmma has so few rows that reading w is nearly all: times are
/// predicted in another way then, and operands may be swapped. Of x and w as
/// they are: split products of so few rows were not measured with them.
bool isFewRows(const LayerProblem &problem);

/// What a schedule of family mma_sync, or wgmma, comes to.
Prediction predictMmaSync(const LayerProblem &problem, ScheduleAttr schedule,
                          const TargetSpec &target);
Prediction predictWgmma(const LayerProblem &problem, ScheduleAttr schedule,
                        const TargetSpec &target);

/// Seconds of the epilogue of one tile of family wgmma.
double predictWgmmaEpilogue(const LayerProblem &problem, ScheduleAttr schedule);

/// The family of which a schedule is chosen, and why it is not wgmma though all
/// targets have that; "" if it is, or if a target or the method is not for it.
struct FamilyChoice {
  KernelFamily family;
  std::string wgmmaProblem;
};
FamilyChoice chooseFamily(const LayerProblem &problem,
                          ArrayRef<const TargetSpec *> targets);

/// Schedules of family mma_sync that all targets can take: of two that are
/// predicted the same time, the first is better.
SmallVector<ScheduleAttr>
listMmaSyncSchedules(const LayerProblem &problem,
                     ArrayRef<const TargetSpec *> targets);

/// The schedule of family mma_sync whose worst ratio is the least; nothing if
/// no schedule runs on all targets.
std::optional<ScheduleChoice>
chooseMmaSync(const LayerProblem &problem,
              ArrayRef<const TargetSpec *> targets);

/// Schedules of family wgmma that all targets can take; what is expected to be
/// best comes first.
SmallVector<ScheduleAttr>
listWgmmaSchedules(const LayerProblem &problem,
                   ArrayRef<const TargetSpec *> targets);

/// Whether a thread has registers for a tile of family wgmma; those that
/// findProblem refuses aside.
bool fitsWgmmaRegisters(const LayerProblem &problem, ScheduleAttr schedule);

/// A schedule that is worth measuring: those of low rank first.
struct RankedSchedule {
  ScheduleAttr schedule;
  double rank;
};

/// Schedules of family wgmma that all targets can take and that measuring may
/// find to be the best: tiles, forms, rasters and numbers of stages beyond
/// those of listWgmmaSchedules. Of the same rank the first comes first.
SmallVector<RankedSchedule>
rankWgmmaSchedules(const LayerProblem &problem,
                   ArrayRef<const TargetSpec *> targets);

/// The schedule of family wgmma for targets that all have it: one of `table`
/// where the layer is there, or else one whose worst ratio is about the least;
/// nothing if none can reduce as the problem says.
std::optional<ScheduleChoice> chooseWgmma(const LayerProblem &problem,
                                          ArrayRef<const TargetSpec *> targets,
                                          ArrayRef<TunedSchedule> table);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_STRATEGY_HEURISTICS_H
