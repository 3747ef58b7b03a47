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

#include "tenon/Target/Schedule.h"

using namespace mlir;
using namespace mlir::tenon;

int64_t tenon::getSharedBytes(ScheduleAttr schedule) {
  ArrayRef<int64_t> tile = schedule.getTile();
  return schedule.getStages() * (tile[0] + tile[1]) * schedule.getSwizzle() +
         schedule.getNumWarps() * kStagingBytesPerWarp;
}

int64_t tenon::getMaxBlocks(ScheduleAttr schedule) {
  return kMaxMultiprocessors * schedule.getBlocks();
}

int64_t tenon::getWorkspaceBytes(ScheduleAttr schedule) {
  if (!schedule.getStreamK())
    return 0;
  ArrayRef<int64_t> tile = schedule.getTile();
  return getMaxBlocks(schedule) * (8 + tile[0] * tile[1] * 4);
}

std::string tenon::findProblem(ScheduleAttr schedule, Type elementType,
                               const TargetSpec &target) {
  return "";
}
