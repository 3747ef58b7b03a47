//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The families that there are, and what all of them ask.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/Checks/ScheduleFamily.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::tenon;

using llvm::formatv;

/// Set once, before there are threads that read it.
static SmallVector<const ScheduleFamily *> &getFamilies() {
  static SmallVector<const ScheduleFamily *> families;
  return families;
}

ArrayRef<const ScheduleFamily *> ScheduleFamily::getAll() {
  return getFamilies();
}

void ScheduleFamily::setAll(ArrayRef<const ScheduleFamily *> families) {
  getFamilies().assign(families.begin(), families.end());
}

const ScheduleFamily &ScheduleFamily::get(KernelFamily family) {
  auto *found = llvm::find_if(getAll(), [&](const ScheduleFamily *candidate) {
    return candidate->traits.family == family;
  });
  assert(found != getAll().end() &&
         "registerScheduleFamilies has not been called");
  return **found;
}

/// More than any GPU has multiprocessors to walk through a group with.
static constexpr int64_t kMaxRaster = 256;
/// More than fit any shared memory; a kernel's code grows with them.
static constexpr int64_t kMaxStages = 32;

/// Of several weights nothing is reduced.
static std::string findWeightsProblem(ScheduleAttr schedule) {
  if (schedule.getWeights() == 1)
    return "";
  if (schedule.getWeights() > 2)
    return formatv("a kernel has the products of 2 weights at most, not {0}",
                   schedule.getWeights());
  if (schedule.getReduction() != ReductionMethod::Separate)
    return formatv("with weights = 2 nothing is reduced in the kernel; leave "
                   "out reduction = {0}",
                   stringifyReductionMethod(schedule.getReduction()));
  return "";
}

std::string tenon::findShapeProblem(ScheduleAttr schedule, Type elementType) {
  if (!ScheduleFamily::of(schedule).multiplies(schedule.getMethod()))
    return formatv("{0} has no method {1}; leave one of them out",
                   stringifyKernelFamily(schedule.getFamily()),
                   stringifyProductMethod(schedule.getMethod()));
  if (std::string problem =
          findElementProblem(schedule.getMethod(), elementType);
      !problem.empty())
    return formatv("{0}, not {1}", problem, elementType);
  int64_t bytes = elementType.getIntOrFloatBitWidth() / 8;
  int64_t extent = schedule.getSwizzle() / bytes;
  if (schedule.getTile()[2] != extent)
    return formatv(
        "K of the tile must be the {0} elements of {1} that swizzle, "
        "{2} bytes, holds, not {3}",
        extent, elementType, schedule.getSwizzle(), schedule.getTile()[2]);
  if (schedule.getStages() > kMaxStages)
    return formatv("a block has at most {0} stages, not {1}", kMaxStages,
                   schedule.getStages());
  if (schedule.getRaster() > kMaxRaster)
    return formatv("raster must be at most {0} row tiles, not {1}", kMaxRaster,
                   schedule.getRaster());
  return findWeightsProblem(schedule);
}

std::string tenon::findSharedProblem(ScheduleAttr schedule,
                                     const TargetSpec &target) {
  int64_t stageBytes = getStageBytes(schedule);
  int64_t left = target.sharedBytesPerBlock - getUsualBytes(schedule) -
                 ScheduleFamily::of(schedule).getEpilogueBytes(schedule);
  if (schedule.getStages() > left / stageBytes)
    return formatv("{0} stages of {1} bytes do not fit the {2} bytes of shared "
                   "memory that {3} leaves them; use fewer stages or a smaller "
                   "tile",
                   schedule.getStages(), stageBytes, left, target.name);
  return "";
}
