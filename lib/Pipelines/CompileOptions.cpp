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

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Pipelines/Compiler.h"
#include "tenon/Target/TargetSpec.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::tenon;

/// What is wrong with the text of a schedule, "" if nothing.
static std::string findScheduleProblem(StringRef text) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<TenonDialect>();
  std::string problem;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (problem.empty())
      problem = diagnostic.str();
  });
  std::string attribute = ("#tenon.schedule<" + text + ">").str();
  (void)parseAttribute(attribute, &context);
  return problem;
}

static std::string findStrategyProblem(const CompileOptions &options) {
  if (!llvm::is_contained({"auto", "library", "tiled"}, options.strategy))
    return "strategy=" + options.strategy +
           " is not known; expected auto, library or tiled";
  if (!llvm::is_contained(
          {"auto", "separate", "two_phase", "resident", "input_moments"},
          options.reduction))
    return "reduction=" + options.reduction +
           " is not known; expected auto, separate, two_phase, resident or "
           "input_moments";
  if (options.reduction != "auto" && options.strategy == "library")
    return "reduction=" + options.reduction +
           " is for tiled layers, but strategy=library leaves none; leave one "
           "of the two out";
  if (options.reduction != "auto" && !options.schedule.empty())
    return "reduction=" + options.reduction +
           " is not for a schedule that is given; write it in the schedule, as "
           "reduction = " +
           options.reduction;
  if (options.schedule.empty())
    return "";
  if (options.strategy == "library")
    return "schedule=" + options.schedule +
           " is for tiled layers, but strategy=library leaves none; leave one "
           "of the two out";
  std::string problem = findScheduleProblem(options.schedule);
  if (problem.empty())
    return "";
  return "schedule=" + options.schedule + " is not a schedule: " + problem +
         "; expected what stands in #tenon.schedule<...>, such as mma_sync, "
         "tile = 128x256x64, warps = 2x4, stages = 3, swizzle = 128, raster = "
         "8, blocks = 1, stream_k = true";
}

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
      return "target=" + target + " is not known; expected cpu or " +
             listTargets();
  return findStrategyProblem(options);
}
