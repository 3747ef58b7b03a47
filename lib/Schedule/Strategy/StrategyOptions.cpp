//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the options that say how layers are computed.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/Strategy/StrategyOptions.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::tenon;

/// What is wrong with the text of a schedule, "" if nothing. A context of its
/// own, so that nobody else's handler is told.
static std::string findScheduleProblem(StringRef text) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<TenonDialect>();
  std::string problem;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (problem.empty())
      problem = diagnostic.str();
  });
  (void)parseSchedule(text, &context);
  return problem;
}

FailureOr<SmallVector<const TargetSpec *>>
tenon::lookupTargets(ArrayRef<std::string> names, Location loc) {
  SmallVector<const TargetSpec *> targets;
  for (const std::string &name : names) {
    const TargetSpec *target = lookupTarget(name);
    if (!target)
      return emitError(loc)
             << "'" << name << "' is not a target; known are " << listTargets();
    if (!llvm::is_contained(targets, target))
      targets.push_back(target);
  }
  return targets;
}

ScheduleAttr tenon::parseSchedule(StringRef text, MLIRContext *context) {
  constexpr StringLiteral kPrefix = "#tenon.schedule<";
  text = text.trim();
  std::string whole =
      text.starts_with(kPrefix) ? text.str() : (kPrefix + text + ">").str();
  return dyn_cast_or_null<ScheduleAttr>(parseAttribute(whole, context));
}

std::string tenon::findValueProblem(StringRef flag, StringRef value,
                                    StringRef values) {
  SmallVector<StringRef> all;
  values.split(all, '|');
  if (all.size() == 1 || llvm::is_contained(all, value))
    return "";
  StringRef last = all.pop_back_val();
  return (flag + "=" + value + " is not known; expected " +
          llvm::join(all, ", ") + " or " + last)
      .str();
}

std::string tenon::findStrategyProblem(StringRef strategy, StringRef schedule,
                                       StringRef reduction, StringRef pairs,
                                       StringRef siblings) {
  constexpr StringLiteral kNoneTiled =
      " is for tiled layers, but strategy=library leaves none; leave one of "
      "the two out";
#define TENON_STRATEGY(NAME, FLAG, DEFAULT, VALUES, HELP)                      \
  if (std::string problem = findValueProblem(FLAG, NAME, VALUES);              \
      !problem.empty())                                                        \
    return problem;
#include "tenon-c/CompileOptions.def"
  if (reduction != "auto" && strategy == "library")
    return ("reduction=" + reduction + kNoneTiled).str();
  if (pairs == "always" && strategy == "library")
    return ("pairs=" + pairs + kNoneTiled).str();
  if (siblings == "always" && strategy == "library")
    return ("siblings=" + siblings + kNoneTiled).str();
  if (schedule.empty())
    return "";
  if (reduction != "auto")
    return ("reduction=" + reduction +
            " is not for a schedule that is given; write it in the schedule, "
            "as reduction = " +
            reduction)
        .str();
  if (strategy == "library")
    return ("schedule=" + schedule + kNoneTiled).str();
  std::string problem = findScheduleProblem(schedule);
  if (problem.empty())
    return "";
  return ("schedule=" + schedule + " is not a schedule: " + problem +
          "; expected what stands in #tenon.schedule<...>, such as mma_sync, "
          "tile = 128x256x64, warps = 2x4, stages = 3, swizzle = 128, raster = "
          "8, blocks = 1, stream_k = true")
      .str();
}
