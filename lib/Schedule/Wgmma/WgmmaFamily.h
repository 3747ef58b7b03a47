//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_WGMMA_WGMMAFAMILY_H
#define TENON_LIB_SCHEDULE_WGMMA_WGMMAFAMILY_H

#include "tenon/Schedule/Checks/ScheduleFamily.h"

namespace mlir::tenon {

/// Kernels of sm_90a's TMA and wgmma, with warps that copy beside those that
/// multiply.
class WgmmaFamily : public ScheduleFamily {
public:
  WgmmaFamily();

  int64_t getBlockThreads(ScheduleAttr schedule) const override;
  int64_t getBarrierBytes(ScheduleAttr schedule) const override;
  int64_t getEpilogueBytes(ScheduleAttr schedule) const override;
  int64_t getExchangedColumns(ScheduleAttr schedule) const override;

  std::string findProblem(ScheduleAttr schedule,
                          Type elementType) const override;
  std::string findProblem(ScheduleAttr schedule,
                          const TargetSpec &target) const override;
  std::string findExtentProblem(Type elementType, int64_t k) const override;
  std::string findLayoutProblem(ScheduleAttr schedule, Type elementType,
                                OperandLayout layout,
                                const ProductExtents &extents) const override;
  std::string findResidentProblem(FusedLinearOp op,
                                  ScheduleAttr schedule) const override;
  std::string findMomentsProblem(FusedLinearOp op,
                                 ScheduleAttr schedule) const override;
  bool hasRoom(FusedLinearOp op, ScheduleAttr schedule) const override;
  bool runsOn(const TargetSpec &target) const override;
  using ScheduleFamily::multiplies;
  bool multiplies(ProductMethod method) const override;

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
  double getShareLimit(const LayerProblem &problem,
                       const ScheduleChoice &choice) const override;
};

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_WGMMA_WGMMAFAMILY_H
