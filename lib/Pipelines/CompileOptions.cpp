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
#define TENON_STRATEGY(NAME, FLAG, DEFAULT, VALUES, HELP)
#define TENON_TEXT(NAME, FLAG, DEFAULT, VALUES, HELP)                          \
  if (std::string problem = findValueProblem(FLAG, options.NAME, VALUES);      \
      !problem.empty())                                                        \
    return problem;
#include "tenon-c/CompileOptions.def"
  if (options.host == kAArch64 && options.cpu != CompileOptions().cpu)
    return "cpu=" + options.cpu +
           " is a level of x86-64, but host=aarch64 is another architecture; "
           "leave one of the two out";
  if (options.parameters.empty() && !options.parametersPrefix.empty())
    return "parameters-prefix=" + options.parametersPrefix +
           " is of no use without parameters, their file";
  if (options.parameters.empty() && options.castParameters)
    return "cast-parameters is of no use without parameters, their file";
  for (const std::string &target : options.cudaTargets)
    if (!lookupTarget(target))
      return "target=" + target +
             (target.empty() ? " has an empty entry" : " is not known") +
             "; expected cpu or " + listTargets() +
             " (later GPUs run the PTX of " +
             getNewestPortableTarget().name.str() + ")";
  return findStrategyProblem(options.strategy, options.schedule,
                             options.reduction, options.pairs,
                             options.siblings);
}
