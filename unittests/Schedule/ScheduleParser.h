//===- ScheduleParser.h - Schedules for tests -------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_UNITTESTS_SCHEDULE_SCHEDULEPARSER_H
#define TENON_UNITTESTS_SCHEDULE_SCHEDULEPARSER_H

#include "tenon/Schedule/Checks/Schedule.h"

#include "mlir/AsmParser/AsmParser.h"

namespace mlir::tenon {

/// Reads schedules of one family.
class ScheduleParser {
public:
  explicit ScheduleParser(StringRef family) : family(family) {
    context.loadDialect<TenonDialect>();
  }

  ScheduleAttr parse(StringRef text) {
    std::string attribute =
        ("#tenon.schedule<" + family + ", " + text + ">").str();
    return cast<ScheduleAttr>(parseAttribute(attribute, &context));
  }

  /// What findProblem says of the schedule.
  std::string find(StringRef text, StringRef type, StringRef target) {
    return findProblem(parse(text), parseType(type, &context),
                       *lookupTarget(target));
  }

  MLIRContext context;

private:
  StringRef family;
};

} // namespace mlir::tenon

#endif // TENON_UNITTESTS_SCHEDULE_SCHEDULEPARSER_H
