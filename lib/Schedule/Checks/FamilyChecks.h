//===- FamilyChecks.h - What each family of kernels needs -------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parts of findProblem (Schedule/Checks/Schedule.h) that differ between
// families of kernels. Each says in a sentence what is wrong; "" if nothing is.
//
// Numbers are as large as a user likes, so products are compared by division.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_CHECKS_FAMILYCHECKS_H
#define TENON_LIB_SCHEDULE_CHECKS_FAMILYCHECKS_H

#include "tenon/Schedule/Checks/Schedule.h"

namespace mlir::tenon {

/// What no target can run.
std::string findMmaSyncProblem(ScheduleAttr schedule, Type elementType);
std::string findWgmmaProblem(ScheduleAttr schedule, Type elementType);

/// What `target` lacks for a schedule that some target may run.
std::string findMmaSyncProblem(ScheduleAttr schedule, const TargetSpec &target);
std::string findWgmmaProblem(ScheduleAttr schedule, const TargetSpec &target);

/// What all families ask: an element type that they multiply, a row of K that
/// swizzle holds, a raster that some GPU can walk through.
std::string findShapeProblem(ScheduleAttr schedule, Type elementType);

/// Whether the stages fit a block's shared memory.
std::string findSharedProblem(ScheduleAttr schedule, const TargetSpec &target);

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_CHECKS_FAMILYCHECKS_H
