//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Looks things up in a manifest, and prints it.
//
//===----------------------------------------------------------------------===//

#include "Description.h"

#include "Error.h"

#include <algorithm>
#include <cstdio>

using namespace tenon::run;

Manifest tenon::run::readManifest(const TenonModel *model) {
  Manifest manifest;
  runtime::parseManifest(tenonModelManifest(model), manifest);
  return manifest;
}

const FunctionInfo *tenon::run::find(const Manifest &model,
                                     const std::string &function) {
  auto found =
      std::ranges::find(model.functions, function, &FunctionInfo::name);
  return found == model.functions.end() ? nullptr : &*found;
}

/// Models did not always say which it is; a function of the user's is none.
const FunctionInfo *tenon::run::findReference(const Manifest &model,
                                              const EntryInfo &entry) {
  if (!entry.reference.empty())
    return find(model, entry.reference);
  std::string name = entry.name + "_reference";
  bool isEntry = std::ranges::count(model.entries, name, &EntryInfo::name);
  return isEntry ? nullptr : find(model, name);
}

const EntryInfo &tenon::run::getEntry(const Manifest &model,
                                      const std::string &name) {
  std::vector<std::string> names;
  for (const EntryInfo &entry : model.entries) {
    if (entry.name == (name.empty() ? "forward" : name))
      return entry;
    names.push_back(entry.name);
  }
  if (name.empty() && model.entries.size() == 1)
    return model.entries.front();
  throw Error("the model has " +
              (name.empty() ? "no function 'forward' to run by default"
                            : "no function '" + name + "'") +
              "; give --function= with one of: " + join(names));
}

static void printTensors(const char *direction, const FunctionInfo &function,
                         const std::vector<TensorInfo> &tensors) {
  for (const TensorInfo &tensor : tensors)
    printf("  %-3s %s: %s %s%s%s\n", direction, tensor.name.c_str(),
           getTenonDataType(tensor.dtype).name,
           shapeText(function, tensor).c_str(), tensor.role.empty() ? "" : ", ",
           tensor.role.c_str());
}

void tenon::run::printModel(const Manifest &model) {
  std::vector<std::string> gpus = model.cuda;
  if (!model.ptx.empty())
    gpus.push_back("PTX of " + model.ptx + " for later GPUs");
  printf("model %s, compiled by Tenon %s\n", model.name.c_str(),
         model.version.c_str());
  printf("CPU code: %s\n", model.cpu.empty() ? "none" : model.cpu.c_str());
  printf("GPU code: %s\n", gpus.empty() ? "none" : join(gpus).c_str());
  if (!model.kernels.empty())
    printf("GPU kernels: %s\n", join(model.kernels).c_str());
  for (const EntryInfo &entry : model.entries) {
    printf("entry %s(%s)", entry.name.c_str(), join(entry.inputs).c_str());
    if (!entry.prepare.empty())
      printf(": %s for new parameters, then %s", entry.prepare.c_str(),
             entry.run.c_str());
    printf("\n");
  }
  for (const FunctionInfo &function : model.functions) {
    printf("function %s\n", function.name.c_str());
    printTensors("in", function, function.inputs);
    printTensors("out", function, function.outputs);
  }
}
