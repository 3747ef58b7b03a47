//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a schedule of family mma_sync asks.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/Checks/ScheduleFamily.h"

#include "tenon/Schedule/MmaSync/MmaSyncSchedule.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;
using llvm::formatv;

/// Registers of a thread beside its sums: fragments, addresses, loops.
static constexpr int64_t kOtherRegisters = 100;
/// What the hardware allows of a block, on every target.
static constexpr int64_t kMaxWarps = 32;
/// Sums of a warp: with more than 128 a thread and the fragments, it would need
/// more than its 255 registers.
static constexpr int64_t kMaxWarpSums = 32 * 128;
/// Columns of a warp with reduction = resident: their states and origins, 16
/// bytes each at most, lie where it turns its accumulators.
static constexpr int64_t kMaxResidentWarpColumns = kStagingBytesPerWarp / 16;

/// Sums of a thread for each element: methods as precise as fp32 add up a few
/// products at a time, and their sums to the others.
static int64_t getSumsPerElement(ScheduleAttr schedule) {
  return schedule.getMethodTraits().hasPartialSums ? 2 : 1;
}

/// Names the method where that is why there are so many.
static std::string getMethodPhrase(ScheduleAttr schedule) {
  if (getSumsPerElement(schedule) == 1)
    return "";
  return formatv(" with method {0}",
                 stringifyProductMethod(schedule.getMethod()));
}

/// Rows of shared memory, which hold tile K elements.
static std::string findRowProblem(ScheduleAttr schedule) {
  int64_t swizzle = schedule.getSwizzle();
  if (swizzle != 64 && swizzle != 128)
    return formatv("swizzle must be 64 or 128 bytes, not {0}", swizzle);
  if (swizzle != 128 && getSumsPerElement(schedule) != 1)
    return formatv("method {0} needs swizzle = 128, not {1}",
                   stringifyProductMethod(schedule.getMethod()), swizzle);
  return "";
}

/// The tile of a warp must be made of whole products of mma.sync.
static std::string findWarpProblem(ScheduleAttr schedule) {
  ArrayRef<int64_t> tile = schedule.getTile(), warps = schedule.getWarps();
  if (warps[0] > kMaxWarps / warps[1])
    return formatv("a block has at most {0} warps, not {1}x{2}", kMaxWarps,
                   warps[0], warps[1]);
  int64_t m = tile[0] / warps[0], n = tile[1] / warps[1];
  if (tile[0] % warps[0] != 0 || m % 16 != 0)
    return formatv("M of the tile, {0}, must be a multiple of 16 for each of "
                   "the {1} warps along it",
                   tile[0], warps[0]);
  if (tile[1] % warps[1] != 0 || n % 32 != 0)
    return formatv("N of the tile, {0}, must be a multiple of 32 for each of "
                   "the {1} warps along it",
                   tile[1], warps[1]);
  int64_t maxElements = kMaxWarpSums / getSumsPerElement(schedule);
  maxElements /= schedule.getWeights();
  if (m > maxElements / n)
    return formatv("a warp's part of the tile, {0}x{1}, has more than the {2} "
                   "elements that fit its registers{3}; use more warps or a "
                   "smaller tile",
                   m, n, maxElements, getMethodPhrase(schedule));
  return "";
}

/// A block copies whole rows of the tiles of x and w, all threads at once.
static std::string findCopyProblem(ScheduleAttr schedule) {
  int64_t threads = schedule.getNumThreads();
  int64_t rows = threads * 16 / schedule.getSwizzle();
  // The swizzle repeats every 8 rows, and all copies of a thread swizzle alike.
  if (rows % 8 != 0)
    return formatv("{0} threads copy {1} rows at a time, which must be a "
                   "multiple of 8; use an even number of warps",
                   threads, rows);
  for (auto [extent, name] :
       llvm::zip(schedule.getTile().take_front(2), StringRef("MN")))
    if (extent % rows != 0)
      return formatv("{0} threads copy {1} rows at a time, of which {2} of the "
                     "tile, {3}, must be a multiple; use fewer warps or a "
                     "larger tile",
                     threads, rows, name, extent);
  return "";
}

/// With reduction = resident all tiles of a column are at work in the same turn
/// and wait for each other before they finish, with resident_rows those of a
/// row. Kernels beside a resident one, for split products and for pointers that
/// are not aligned, have as many tiles.
static std::string findResidentProblem(ScheduleAttr schedule) {
  bool ofRows = schedule.getReduction() == ReductionMethod::ResidentRows;
  if (!ofRows && schedule.getReduction() != ReductionMethod::Resident)
    return "";
  StringRef name = stringifyReductionMethod(schedule.getReduction());
  if (schedule.getStreamK())
    return formatv("with reduction = {0} all tiles of a {1} wait for each "
                   "other, so stream_k cannot be; leave it out",
                   name, ofRows ? "row" : "column");
  if (schedule.getBlocks() != 1)
    return formatv("with reduction = {0} a multiprocessor has one block; write "
                   "blocks = 1, not {1}",
                   name, schedule.getBlocks());
  int64_t columns = schedule.getTile()[1] / schedule.getWarps()[1];
  if (!ofRows && columns > kMaxResidentWarpColumns)
    return formatv("with reduction = resident a warp's part of the tile has at "
                   "most {0} columns, not {1}; use more warps along N",
                   kMaxResidentWarpColumns, columns);
  return "";
}

std::string tenon::findMmaSyncProblem(ScheduleAttr schedule, Type elementType) {
  if (schedule.getClusterM() != 1 || schedule.getClusterN() != 1 ||
      schedule.getPingPong() || schedule.getDefer())
    return "mma_sync has no cluster, ping_pong or defer; leave them out";
  if (schedule.getWeights() != 1 && !schedule.getMethodTraits().usesTensorCores)
    return "with method fma a kernel has one product of x; leave out weights";
  std::string problem = findRowProblem(schedule);
  if (problem.empty())
    problem = findShapeProblem(schedule, elementType);
  if (!problem.empty())
    return problem;
  if (schedule.getStages() < 3)
    return formatv("mma_sync needs at least 3 stages, not {0}",
                   schedule.getStages());
  problem = findWarpProblem(schedule);
  if (problem.empty())
    problem = findCopyProblem(schedule);
  return problem.empty() ? findResidentProblem(schedule) : problem;
}

/// What the blocks of a multiprocessor use together.
/// Of the kernel beside one that reduces rows, whose tiles are as wide.
static std::string findUnalignedProblem(ScheduleAttr schedule,
                                        const TargetSpec &target) {
  if (!reducesRows(schedule))
    return "";
  ScheduleParameters parameters = schedule.getParameters();
  widenToRows(parameters, schedule.getTile()[1]);
  std::string problem = findSharedProblem(
      ScheduleAttr::get(schedule.getContext(), parameters), target);
  if (problem.empty())
    return "";
  return formatv("with reduction = {0} another kernel of tiles as wide stands "
                 "beside it, for pointers that are no multiples of 16 bytes: "
                 "{1}; use a tile of fewer columns, or swizzle = 64",
                 stringifyReductionMethod(schedule.getReduction()), problem);
}

std::string tenon::findMmaSyncProblem(ScheduleAttr schedule,
                                      const TargetSpec &target) {
  if (!target.hasMmaSync)
    return formatv("{0} has no mma.sync", target.name);
  if (schedule.getMethod() == ProductMethod::FP8 &&
      target.mmaSyncRate.bits8 == 0)
    return formatv("mma_sync multiplies 8 bits on sm_89 alone, not on {0}; "
                   "leave out the schedule",
                   target.name);
  std::string problem = findSharedProblem(schedule, target);
  if (problem.empty())
    problem = findUnalignedProblem(schedule, target);
  if (!problem.empty())
    return problem;
  ArrayRef<int64_t> tile = schedule.getTile();
  int64_t blocks = schedule.getBlocks();
  int64_t bytes = getSharedBytes(schedule) + kReservedSharedBytes;
  if (blocks > target.sharedBytesPerMultiprocessor / bytes)
    return formatv("{0} blocks of {1} bytes of shared memory do not fit the "
                   "{2} of a multiprocessor of {3}; use fewer blocks",
                   blocks, bytes, target.sharedBytesPerMultiprocessor,
                   target.name);
  int64_t threads = schedule.getNumThreads() * blocks;
  int64_t sums = tile[0] * tile[1] * schedule.getWeights() /
                 schedule.getNumThreads() * getSumsPerElement(schedule);
  int64_t needed = sums + kOtherRegisters;
  // A thread gets a multiple of 8.
  int64_t given = target.registersPerMultiprocessor / threads / 8 * 8;
  if (needed > given)
    return formatv("a thread needs about {0} registers, but {1} threads leave "
                   "it {2} on {3}; use fewer warps or blocks, or a smaller "
                   "tile",
                   needed, threads, given, target.name);
  return "";
}

std::array<int64_t, 2> tenon::getNarrowTileWarps(int64_t rows) {
  int64_t warps = 1;
  while (warps < 4 && rows / warps > 32 && rows % (32 * warps) == 0)
    warps *= 2;
  return {warps, 2};
}

void tenon::widenToRows(ScheduleParameters &parameters, int64_t n,
                        bool ofGroups) {
  constexpr int64_t rows = 64;
  int64_t columns =
      std::max<int64_t>(llvm::PowerOf2Ceil(n), kNarrowTileColumns);
  parameters.tile = {rows, columns, parameters.tile[2]};
  parameters.warps = {2, columns == kNarrowTileColumns ? 2 : 4};
  // A group lies in one warp's part.
  if (ofGroups && parameters.reduction == ReductionMethod::InTile) {
    parameters.tile[1] = n;
    parameters.warps = {4, 1};
  }
  parameters.stages = 3;
  parameters.blocks = 1;
}

ScheduleAttr tenon::getGuardSchedule(MLIRContext *context, Precision precision,
                                     int64_t m, ReductionMethod reduction,
                                     int64_t rows, int64_t n, bool ofGroups) {
  bool dependsOnRows = reduction == ReductionMethod::TwoPhase ||
                       reduction == ReductionMethod::Resident;
  if (!dependsOnRows)
    rows = !ShapedType::isDynamic(m) && m <= 64 ? 64 : 128;
  bool ofRows = reduction == ReductionMethod::InTile ||
                reduction == ReductionMethod::ReduceOnly ||
                reduction == ReductionMethod::ResidentRows;
  ScheduleParameters parameters{
      .family = KernelFamily::MmaSync,
      .tile = {rows, kNarrowTileColumns, 32},
      .warps = getNarrowTileWarps(rows),
      .stages = rows <= 64 ? 4 : 3,
      .swizzle = 128,
      .raster = 16,
      .blocks = 1,
      .method = precision == Precision::FP32 ? ProductMethod::FMA
                                             : ProductMethod::Direct,
      .reduction =
          dependsOnRows || ofRows ? reduction : ReductionMethod::Separate};
  if (ofRows)
    widenToRows(parameters, n, ofGroups);
  return ScheduleAttr::get(context, parameters);
}
