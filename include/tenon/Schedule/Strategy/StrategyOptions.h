//===- StrategyOptions.h - How layers are asked to be computed --*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SCHEDULE_STRATEGY_STRATEGYOPTIONS_H
#define TENON_SCHEDULE_STRATEGY_STRATEGYOPTIONS_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Target/TargetSpec.h"

#include <string>

namespace mlir::tenon {

/// Says which `values`, "a|b", an option may have if `value` is none of them;
/// "" if it is one, or if there is no such list.
std::string findValueProblem(StringRef flag, StringRef value, StringRef values);

/// What is wrong with options of --tenon-select-strategy, as of tenon-compile,
/// alone or together: "strategy=magic is not known; ..."; "" if nothing. Of
/// `schedule` only how it is written is read.
std::string findStrategyProblem(StringRef strategy, StringRef schedule,
                                StringRef reduction, StringRef pairs,
                                StringRef siblings);

/// The targets of these names, each once; without a name that is unknown, of
/// which an error at `loc` tells.
FailureOr<SmallVector<const TargetSpec *>>
lookupTargets(ArrayRef<std::string> names, Location loc);

/// Reads a schedule as it is printed, #tenon.schedule<...>, or what stands
/// within. Null, after an error of `context`, if it is none.
ScheduleAttr parseSchedule(StringRef text, MLIRContext *context);

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_STRATEGY_STRATEGYOPTIONS_H
