//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StrategyRemarks.h"

#include "tenon/Schedule/Checks/ProductMethod.h"
#include "tenon/Schedule/Checks/Schedule.h"

using namespace mlir;
using namespace mlir::tenon;

ValuedRemark &tenon::sayStrategy(ValuedRemark &remark, Strategy strategy,
                                 const Reason &reason) {
  StringRef name = stringifyStrategy(strategy);
  return remark.set("strategy", name).set("choice", reason.toJSON())
         << remark::add("{0}: {1}", name, reason.getText());
}

ValuedRemark &tenon::saySchedule(ValuedRemark &remark,
                                 const ScheduleChoice &choice) {
  ScheduleAttr schedule = choice.schedule;
  return remark.say((choice.isTuned ? "tuned: " : "") + describe(schedule))
      .set("family", stringifyKernelFamily(schedule.getFamily()))
      .set("method", stringifyProductMethod(schedule.getMethod()));
}
