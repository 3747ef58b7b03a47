//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a schedule asks of a target.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/Checks/Schedule.h"

#include "tenon/Schedule/Checks/LayerSum.h"
#include "tenon/Schedule/Checks/ScheduleFamily.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;
using llvm::formatv;

static bool isResident(ScheduleAttr schedule) {
  return schedule.getReduction() == ReductionMethod::Resident;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

std::string tenon::describe(ScheduleAttr schedule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // Every target has it, and only a few ways to divide a tile.
  bool isUsual = schedule.getFamily() == KernelFamily::MmaSync;
  if (schedule.getMethod() != ProductMethod::Direct)
    os << stringifyKernelFamily(schedule.getFamily()) << " "
       << stringifyProductMethod(schedule.getMethod()) << ", ";
  else if (!isUsual)
    os << stringifyKernelFamily(schedule.getFamily()) << ", ";
  os << "tiles of ";
  llvm::interleave(schedule.getTile(), os, "x");
  if (schedule.getWeights() != 1)
    os << " of " << schedule.getWeights() << " products";
  if (schedule.getTerms() != 1)
    os << " of " << schedule.getTerms() << " products added up";
  if (!isUsual)
    os << " by " << schedule.getNumWarps() << " warps";
  if (schedule.getSiblings() != 1)
    os << ", one launch for " << schedule.getSiblings() << " layers";
  if (schedule.hasSwappedOperands())
    os << ", operands swapped";
  ScheduleParameters parameters = schedule.getParameters();
  ScheduleParameters::forEachKey([&](StringRef key, auto member) {
    using Value = std::remove_reference_t<decltype(parameters.*member)>;
    if constexpr (std::is_same_v<Value, bool>)
      if (parameters.*member)
        os << ", " << key;
  });
  if (schedule.getClusterBlocks() != 1)
    os << ", clusters of " << schedule.getClusterM() << "x"
       << schedule.getClusterN();
  os << ", " << schedule.getStages() << " stages, " << getSharedBytes(schedule)
     << " bytes of shared memory";
  return text;
}

//===----------------------------------------------------------------------===//
// Threads, blocks and bytes
//===----------------------------------------------------------------------===//

int64_t tenon::getBlockThreads(ScheduleAttr schedule) {
  return ScheduleFamily::of(schedule).getBlockThreads(schedule);
}

int64_t tenon::getMaxBlocks(ScheduleAttr schedule) {
  int64_t cluster = schedule.getClusterBlocks();
  return kMaxMultiprocessors * schedule.getBlocks() / cluster * cluster;
}

int64_t tenon::getStageBytes(ScheduleAttr schedule) {
  ArrayRef<int64_t> tile = schedule.getTile();
  return (tile[0] + schedule.getWeights() * tile[1]) * schedule.getSwizzle();
}

int64_t tenon::getUsualBytes(ScheduleAttr schedule) {
  int64_t bytes = getBlockThreads(schedule) / 32 * kScalarBytesPerWarp +
                  ScheduleFamily::of(schedule).getBarrierBytes(schedule);
  if (isResident(schedule))
    bytes += schedule.getTile()[1] * kFinishedBytesPerColumn;
  if (reducesRows(schedule)) {
    // What is found, unless it is stored at once, and twice what each of
    // several warps has of a row.
    int64_t warps = schedule.getWarps()[1];
    int64_t arrays = getFoundRowArrays(schedule) + (warps == 1 ? 0 : 2 * warps);
    // Two tiles are at work with ping_pong.
    bytes += arrays * (schedule.getPingPong() ? 2 : 1) * schedule.getTile()[0] *
             kBytesOfRowState;
  }
  return bytes;
}

int64_t tenon::getSharedBytes(ScheduleAttr schedule) {
  return schedule.getStages() * getStageBytes(schedule) +
         getUsualBytes(schedule) +
         ScheduleFamily::of(schedule).getEpilogueBytes(schedule);
}

int64_t tenon::getWorkspaceBytes(ScheduleAttr schedule) {
  ArrayRef<int64_t> tile = schedule.getTile();
  int64_t ofBlock = 0;
  if (schedule.getStreamK())
    ofBlock = tile[0] * tile[1] * schedule.getWeights() * 4;
  else if (isResident(schedule))
    ofBlock = (schedule.getDefer() ? 4 : 2) *
              ScheduleFamily::of(schedule).getExchangedColumns(schedule) *
              kTaggedStateBytes;
  else if (schedule.getReduction() == ReductionMethod::ResidentRows)
    ofBlock = getExchangedTurns(schedule) * tile[0] * kTaggedStateBytes;
  return ofBlock ? getMaxBlocks(schedule) * (8 + ofBlock) : 0;
}

//===----------------------------------------------------------------------===//
// What can run
//===----------------------------------------------------------------------===//

/// In a launch of several layers each block has one tile of one of them.
static std::string findSiblingsProblem(ScheduleAttr schedule) {
  int64_t siblings = schedule.getSiblings();
  if (siblings == 1)
    return "";
  if (siblings > kMaxSiblings)
    return formatv("a launch has {0} layers at most, not {1}", kMaxSiblings,
                   siblings);
  constexpr StringLiteral kOneTile =
      "with siblings each block has one tile of one layer; leave out ";
  for (auto [name, isThere] :
       {std::pair("stream_k", schedule.getStreamK()),
        std::pair("ping_pong", schedule.getPingPong()),
        std::pair("defer", schedule.getDefer()),
        std::pair("cluster", schedule.getClusterBlocks() != 1),
        std::pair("weights", schedule.getWeights() != 1),
        std::pair("reduction",
                  schedule.getReduction() != ReductionMethod::Separate)})
    if (isThere)
      return (kOneTile + name).str();
  if (schedule.isSplit())
    return formatv("with siblings there is no method {0}, whose products are "
                   "guarded one by one; leave one of the two out",
                   stringifyProductMethod(schedule.getMethod()));
  return "";
}

/// Only x and w differ from term to term.
static std::string findTermsProblem(ScheduleAttr schedule) {
  if (schedule.getTerms() == 1)
    return "";
  if (schedule.getTerms() > kMaxTerms)
    return formatv("a kernel adds up {0} products at most, not {1}", kMaxTerms,
                   schedule.getTerms());
  if (schedule.getFamily() != KernelFamily::Wgmma ||
      schedule.getMethod() != ProductMethod::Direct)
    return "kernels of family wgmma and method direct add products up; leave "
           "out terms";
  if (schedule.getWeights() != 1 || schedule.getSiblings() != 1 ||
      schedule.getReduction() != ReductionMethod::Separate)
    return "with terms there are no weights, siblings or reduction; leave them "
           "out";
  return "";
}

std::string tenon::findProblem(ScheduleAttr schedule, Type elementType) {
  std::string problem = findSiblingsProblem(schedule);
  if (problem.empty())
    problem = findTermsProblem(schedule);
  return problem.empty()
             ? ScheduleFamily::of(schedule).findProblem(schedule, elementType)
             : problem;
}

std::string tenon::findProblem(ScheduleAttr schedule, Type elementType,
                               const TargetSpec &target) {
  std::string problem = findProblem(schedule, elementType);
  return problem.empty()
             ? ScheduleFamily::of(schedule).findProblem(schedule, target)
             : problem;
}

std::string tenon::findExtentProblem(KernelFamily family, Type elementType,
                                     int64_t k) {
  return ScheduleFamily::get(family).findExtentProblem(elementType, k);
}

std::string tenon::findLayoutProblem(ScheduleAttr schedule, Type elementType,
                                     std::optional<OperandLayout> layout,
                                     const ProductExtents &extents) {
  if (!schedule.getMethodTraits().readsElements() ||
      (!isXTransposed(layout) && !isWTransposed(layout)))
    return "";
  return ScheduleFamily::of(schedule).findLayoutProblem(schedule, elementType,
                                                        *layout, extents);
}
