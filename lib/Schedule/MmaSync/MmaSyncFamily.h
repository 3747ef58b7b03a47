//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_MMASYNC_MMASYNCFAMILY_H
#define TENON_LIB_SCHEDULE_MMASYNC_MMASYNCFAMILY_H

#include "tenon/Schedule/Checks/ScheduleFamily.h"

namespace mlir::tenon {

/// Kernels of sm_80's cp.async, ldmatrix and mma.sync.
class MmaSyncFamily : public ScheduleFamily {
public:
  MmaSyncFamily();

  int64_t getBlockThreads(ScheduleAttr schedule) const override;
  int64_t getEpilogueBytes(ScheduleAttr schedule) const override;
  int64_t getExchangedColumns(ScheduleAttr schedule) const override;

  std::string findProblem(ScheduleAttr schedule,
                          Type elementType) const override;
  std::string findProblem(ScheduleAttr schedule,
                          const TargetSpec &target) const override;
  std::string findResidentProblem(FusedLinearOp op,
                                  ScheduleAttr schedule) const override;
  bool runsOn(const TargetSpec &target) const override;
  using ScheduleFamily::multiplies;
  bool multiplies(ProductMethod method,
                  const TargetSpec &target) const override;
  std::string findExtentProblem(Type elementType, int64_t k) const override;
  bool canCompute(const LayerProblem &problem,
                  ScheduleAttr schedule) const override;

  Prediction predict(const LayerProblem &problem, ScheduleAttr schedule,
                     const TargetSpec &target) const override;
  std::optional<ScheduleChoice>
  choose(const LayerProblem &problem,
         ArrayRef<const TargetSpec *> targets) const override;
  SmallVector<RankedSchedule>
  rank(const LayerProblem &problem,
       ArrayRef<const TargetSpec *> targets) const override;
  Verdict weigh(const LayerProblem &problem, const ScheduleChoice &choice,
                ArrayRef<const TargetSpec *> targets) const override;
};

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_MMASYNC_MMASYNCFAMILY_H
