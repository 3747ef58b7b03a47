//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the options of a compilation.
//
//===----------------------------------------------------------------------===//

#include "tenon/Pipelines/Compiler.h"
#include "tenon/Schedule/Strategy/StrategyOptions.h"
#include "tenon/Target/TargetSpec.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::tenon;

std::string tenon::findProblem(const CompileOptions &options) {
  if (!isIdentifier(options.name))
    return "name='" + options.name +
           "' is not a C identifier, which C functions' names begin with";
  if (!llvm::is_contained({"x86-64-v2", "x86-64-v3", "x86-64-v4"},
                          options.cpuLevel))
    return "cpu=" + options.cpuLevel +
           " is not a level; expected x86-64-v2, x86-64-v3 or x86-64-v4";
  for (const std::string &target : options.cudaTargets)
    if (!lookupTarget(target))
      return "target=" + target +
             (target.empty() ? " has an empty entry" : " is not known") +
             "; expected cpu or " + listTargets() +
             " (later GPUs run the PTX of " +
             getNewestPortableTarget().name.str() + ")";
  return findStrategyProblem(options.strategy, options.schedule,
                             options.reduction);
}
