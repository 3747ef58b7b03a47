//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a schedule comes to on each of the targets.
//
//===----------------------------------------------------------------------===//

#include "Heuristics.h"

using namespace mlir;
using namespace mlir::tenon;

ScheduleChoice tenon::predictSchedule(const LayerProblem &problem,
                                      ScheduleAttr schedule,
                                      ArrayRef<const TargetSpec *> targets) {
  auto *predict = schedule.getFamily() == KernelFamily::Wgmma ? predictWgmma
                                                              : predictMmaSync;
  ScheduleChoice choice;
  choice.schedule = schedule;
  for (const TargetSpec *target : targets)
    choice.predictions.push_back(predict(problem, schedule, *target));
  return choice;
}

double ScheduleChoice::getWorstRatio() const {
  double worst = 0;
  for (const Prediction &prediction : predictions)
    worst = std::max(worst, prediction.seconds / prediction.library);
  return worst;
}
