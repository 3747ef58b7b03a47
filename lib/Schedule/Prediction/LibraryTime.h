//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time of cuBLASLt, and of what surrounds a product.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_PREDICTION_LIBRARYTIME_H
#define TENON_LIB_SCHEDULE_PREDICTION_LIBRARYTIME_H

#include "LayerProblem.h"

#include "tenon/Target/TargetSpec.h"

namespace mlir::tenon {

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

/// Seconds of the kernel that adds up the sums that a product gives.
double predictSums();

/// Seconds of the kernel that reduces what one with reduction = reduce_only
/// gives, the writing of that included.
double predictParts(const LayerProblem &problem, ScheduleAttr schedule,
                    const TargetSpec &target);

/// Seconds of the kernels that have a product's moments of x and w.
double predictInputMoments(const LayerProblem &problem,
                           const TargetSpec &target);

/// Whether what is predicted of the library is known badly: of few rows it is
/// too high, except of split products.
bool isLibraryUncertain(const LayerProblem &problem);
/// What a tiled kernel must be predicted to take of the library's time then,
/// where nothing better is known: its own prediction may be half of the time
/// (sm90a_sweep.json).
inline constexpr double kUncertainRatio = 0.5;

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_PREDICTION_LIBRARYTIME_H
