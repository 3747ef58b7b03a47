//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks up measured schedules.
//
//===----------------------------------------------------------------------===//

#include "TunedSchedules.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;
using namespace mlir::tenon;

/// How far M may be from a line's.
static constexpr double kNearRatio = 1.25;

#define TUNED(TYPE, M, N, K, EPILOGUE, SCHEDULE)                               \
  {TunedSchedule::TYPE, M, N, K, EpilogueClass::EPILOGUE, SCHEDULE},
// The last line ends the list also where the table is empty.
static constexpr TunedSchedule kWgmmaTuned[] = {
#include "WgmmaTuned.inc"
    {TunedSchedule::F16, 0, 0, 0, EpilogueClass::Light, ""}};
static constexpr TunedSchedule kWgmmaTunedPairs[] = {
#include "WgmmaTunedPairs.inc"
    {TunedSchedule::F16, 0, 0, 0, EpilogueClass::Light, ""}};
#undef TUNED

ArrayRef<TunedSchedule> tenon::getWgmmaTunedSchedules(int64_t weights) {
  return (weights == 1 ? ArrayRef(kWgmmaTuned) : ArrayRef(kWgmmaTunedPairs))
      .drop_back();
}

ScheduleAttr TunedSchedule::parse(MLIRContext *context) const {
  return dyn_cast_or_null<ScheduleAttr>(
      parseAttribute(("#tenon.schedule<" + schedule + ">").str(), context));
}

const TunedSchedule *tenon::findTuned(ArrayRef<TunedSchedule> table,
                                      TunedSchedule::InputType type, int64_t m,
                                      int64_t n, int64_t k,
                                      EpilogueClass epilogue) {
  const TunedSchedule *nearest = nullptr;
  double nearestRatio = kNearRatio;
  for (const TunedSchedule &line : table) {
    if (line.type != type || line.n != n || line.k != k ||
        line.epilogue != epilogue)
      continue;
    double ratio = static_cast<double>(std::max(line.m, m)) /
                   static_cast<double>(std::min(line.m, m));
    if (nearest ? ratio < nearestRatio : ratio <= nearestRatio) {
      nearest = &line;
      nearestRatio = ratio;
    }
  }
  return nearest;
}
