//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a manifest, whose tensors the runtime has checked, and prints it.
//
//===----------------------------------------------------------------------===//

#include "Description.h"

#include "Error.h"
#include "Text.h"

#include <cstdio>
#include <nlohmann/json.hpp>

using namespace tenon::run;
using Json = nlohmann::json;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static const TenonDataType *parseDType(const std::string &name) {
  if (const TenonDataType *type = findTenonDataType(name))
    return type;
  throw Error("unknown dtype '" + name + "'");
}

static TensorInfo parseTensor(const Json &json) {
  TensorInfo tensor{json.at("name"),
                    json.value("role", ""),
                    parseDType(json.at("dtype")),
                    {}};
  for (const Json &extent : json.at("shape"))
    if (extent.is_string())
      tensor.shape.emplace_back(extent.get<std::string>());
    else
      tensor.shape.emplace_back(extent.get<int64_t>());
  return tensor;
}

static FunctionInfo parseFunction(const Json &json) {
  FunctionInfo function{json.at("name"), {}, {}};
  for (const Json &tensor : json.at("inputs"))
    function.inputs.push_back(parseTensor(tensor));
  for (const Json &tensor : json.at("outputs"))
    function.outputs.push_back(parseTensor(tensor));
  return function;
}

static EntryInfo parseEntry(const Json &json, const ModelInfo &model) {
  EntryInfo entry{json.at("name"),
                  json.value("prepare", ""),
                  json.at("run"),
                  json.at("inputs"),
                  json.value("precision", ""),
                  json.value("reference", "")};
  for (const std::string &name : {entry.prepare, entry.run})
    if (!name.empty() && !model.find(name))
      throw Error("entry '" + entry.name + "' has no function '" + name + "'");
  return entry;
}

static ModelInfo parseModel(const Json &json) {
  ModelInfo model;
  model.name = json.at("name");
  model.version = json.value("tenon", "");
  model.cpu = json.value("cpu", "");
  model.ptx = json.value("ptx", "");
  model.cuda = json.value("cuda", std::vector<std::string>());
  model.kernels = json.value("kernels", std::vector<std::string>());
  for (const Json &function : json.at("functions"))
    model.functions.push_back(parseFunction(function));
  for (const Json &entry : json.at("entries"))
    model.entries.push_back(parseEntry(entry, model));
  return model;
}

ModelInfo tenon::run::parseManifest(const char *text) {
  try {
    return parseModel(Json::parse(text));
  } catch (const std::exception &exception) {
    throw Error(std::string("the model's manifest is malformed: ") +
                exception.what() +
                "; compile it again with this version of tenon-compile");
  }
}

//===----------------------------------------------------------------------===//
// Looking up
//===----------------------------------------------------------------------===//

const FunctionInfo *ModelInfo::find(const std::string &function) const {
  for (const FunctionInfo &candidate : functions)
    if (candidate.name == function)
      return &candidate;
  return nullptr;
}

/// Models did not always say which it is; a function of the user's is none.
const FunctionInfo *ModelInfo::findReference(const EntryInfo &entry) const {
  if (!entry.reference.empty())
    return find(entry.reference);
  std::string name = entry.name + "_reference";
  for (const EntryInfo &other : entries)
    if (other.name == name)
      return nullptr;
  return find(name);
}

const EntryInfo &ModelInfo::entry(const std::string &name) const {
  std::vector<std::string> names;
  for (const EntryInfo &entry : entries) {
    if (entry.name == (name.empty() ? "forward" : name))
      return entry;
    names.push_back(entry.name);
  }
  if (name.empty() && entries.size() == 1)
    return entries.front();
  throw Error("the model has " +
              (name.empty() ? "no function 'forward' to run by default"
                            : "no function '" + name + "'") +
              "; give --function= with one of: " + join(names));
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

std::string tenon::run::shapeText(const TensorInfo &tensor) {
  std::vector<std::string> extents;
  for (const auto &extent : tensor.shape)
    extents.push_back(std::holds_alternative<std::string>(extent)
                          ? std::get<std::string>(extent)
                          : std::to_string(std::get<int64_t>(extent)));
  return "[" + join(extents) + "]";
}

static void printTensors(const char *direction,
                         const std::vector<TensorInfo> &tensors) {
  for (const TensorInfo &tensor : tensors)
    printf("  %-3s %s: %s %s%s%s\n", direction, tensor.name.c_str(),
           tensor.dtype->name, shapeText(tensor).c_str(),
           tensor.role.empty() ? "" : ", ", tensor.role.c_str());
}

void tenon::run::printModel(const ModelInfo &model) {
  std::vector<std::string> gpus = model.cuda;
  if (!model.ptx.empty())
    gpus.push_back("PTX of " + model.ptx + " for later GPUs");
  printf("model %s, compiled by Tenon %s\n", model.name.c_str(),
         model.version.c_str());
  printf("CPU code: %s\n", model.cpu.empty() ? "none" : model.cpu.c_str());
  printf("GPU code: %s\n", gpus.empty() ? "none" : join(gpus).c_str());
  if (!model.kernels.empty())
    printf("GPU kernels: %s\n", join(model.kernels).c_str());
  for (const EntryInfo &entry : model.entries)
    if (entry.prepare.empty())
      printf("entry %s(%s)\n", entry.name.c_str(), join(entry.inputs).c_str());
    else
      printf("entry %s(%s): %s for new parameters, then %s\n",
             entry.name.c_str(), join(entry.inputs).c_str(),
             entry.prepare.c_str(), entry.run.c_str());
  for (const FunctionInfo &function : model.functions) {
    printf("function %s\n", function.name.c_str());
    printTensors("in", function.inputs);
    printTensors("out", function.outputs);
  }
}
