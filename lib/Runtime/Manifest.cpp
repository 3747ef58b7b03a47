//===- Manifest.cpp - What a model says of itself -------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inside this file a wrong manifest is an exception; parseManifest makes a
// status of it.
//
//===----------------------------------------------------------------------===//

#include "Manifest.h"

#include "Error.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

using namespace tenon::runtime;
using Json = nlohmann::json;

[[noreturn]] static void wrong(const std::string &where,
                               const std::string &what) {
  throw std::invalid_argument(where + ": " + what);
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

static const Json &field(const Json &object, const char *key,
                         const std::string &where) {
  auto found = object.find(key);
  if (found == object.end())
    wrong(where, std::string("field '") + key + "' is missing");
  return *found;
}

static std::string string(const Json &value, const std::string &where) {
  if (!value.is_string())
    wrong(where, "a string expected, " + value.dump() + " given");
  return value.get<std::string>();
}

static std::string optionalString(const Json &object, const char *key) {
  auto found = object.find(key);
  return found == object.end() ? "" : string(*found, key);
}

static const Json &array(const Json &value, const std::string &where) {
  if (!value.is_array())
    wrong(where, "an array expected, " + value.dump() + " given");
  return value;
}

static std::vector<std::string> optionalStrings(const Json &object,
                                                const char *key) {
  std::vector<std::string> strings;
  if (auto found = object.find(key); found != object.end())
    for (const Json &element : array(*found, key))
      strings.push_back(string(element, key));
  return strings;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static TenonDType parseDType(const Json &value, const std::string &where) {
  std::string name = string(value, where);
  for (TenonDType dtype : {kTenonF32, kTenonF16, kTenonBF16, kTenonF64})
    if (name == dtypeName(dtype))
      return dtype;
  wrong(where, "unknown dtype '" + name +
                   "'; float32, float16, bfloat16 and float64 are known");
}

/// Number of a dynamic name. Inputs introduce names, outputs only use them:
/// otherwise the caller could not know what to allocate.
static int32_t parseSymbol(const std::string &name, bool isOutput,
                           FunctionInfo &function, const std::string &where) {
  auto &symbols = function.symbols;
  auto found = std::find(symbols.begin(), symbols.end(), name);
  if (found == symbols.end()) {
    if (isOutput)
      wrong(where, "dimension '" + name + "' occurs in no input");
    if (symbols.size() == kMaxSymbols)
      wrong(where, "more than " + std::to_string(kMaxSymbols) +
                       " names of dynamic dimensions");
    found = symbols.insert(symbols.end(), name);
  }
  return static_cast<int32_t>(found - symbols.begin());
}

static Dimension parseDimension(const Json &value, bool isOutput,
                                FunctionInfo &function,
                                const std::string &where) {
  Dimension dimension;
  if (value.is_string())
    dimension.symbol =
        parseSymbol(value.get<std::string>(), isOutput, function, where);
  else if (value.is_number_integer() && value.get<int64_t>() >= 0)
    dimension.extent = value.get<int64_t>();
  else
    wrong(where,
          "a dimension is a name or an extent, " + value.dump() + " given");
  return dimension;
}

static std::vector<TensorInfo> parseTensors(const Json &object, const char *key,
                                            FunctionInfo &function) {
  std::vector<TensorInfo> tensors;
  bool isOutput = std::string("outputs") == key;
  std::string where = "function '" + function.name + "', " + key;
  for (const Json &value : array(field(object, key, where), where)) {
    TensorInfo tensor;
    tensor.name = string(field(value, "name", where), where);
    std::string here = where + ", '" + tensor.name + "'";
    tensor.dtype = parseDType(field(value, "dtype", here), here);
    for (const Json &dimension : array(field(value, "shape", here), here))
      tensor.shape.push_back(
          parseDimension(dimension, isOutput, function, here));
    function.descriptorWords += 3 + 2 * tensor.shape.size();
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

static FunctionInfo parseFunction(const Json &value) {
  FunctionInfo function;
  function.name = string(field(value, "name", "functions"), "functions");
  function.inputs = parseTensors(value, "inputs", function);
  function.outputs = parseTensors(value, "outputs", function);
  return function;
}

/// Entries are for front ends; only what they name is checked.
static void checkEntries(const Json &json, const Manifest &manifest) {
  auto entries = json.find("entries");
  if (entries == json.end())
    return;
  for (const Json &entry : array(*entries, "entries"))
    for (const char *key : {"prepare", "run"}) {
      std::string name = optionalString(entry, key);
      auto isNamed = [&](const FunctionInfo &f) { return f.name == name; };
      if (!name.empty() && std::none_of(manifest.functions.begin(),
                                        manifest.functions.end(), isNamed))
        wrong("entries", "'" + name + "' is no function of the model");
    }
}

TenonStatus tenon::runtime::parseManifest(const char *text,
                                          Manifest &manifest) {
  try {
    Json json = Json::parse(text);
    manifest.name = string(field(json, "name", "manifest"), "name");
    manifest.cpu = optionalString(json, "cpu");
    manifest.cuda = optionalStrings(json, "cuda");
    manifest.ptx = optionalString(json, "ptx");
    manifest.kernels = optionalStrings(json, "kernels");
    for (const Json &value :
         array(field(json, "functions", "manifest"), "functions"))
      manifest.functions.push_back(parseFunction(value));
    checkEntries(json, manifest);
    return TENON_OK;
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const std::exception &exception) {
    return fail(TENON_INVALID_ARGUMENT,
                "the model's manifest is malformed: %s; compile the model "
                "again with this version of tenon-compile (%s)",
                exception.what(), tenonRuntimeVersion());
  }
}

//===----------------------------------------------------------------------===//
// Text for messages
//===----------------------------------------------------------------------===//

const char *tenon::runtime::dtypeName(TenonDType dtype) {
  switch (dtype) {
  case kTenonF32:
    return "float32";
  case kTenonF16:
    return "float16";
  case kTenonBF16:
    return "bfloat16";
  case kTenonF64:
    return "float64";
  }
  return "unknown";
}

std::string tenon::runtime::shapeText(const FunctionInfo &function,
                                      const TensorInfo &tensor) {
  std::string text = "[";
  for (const Dimension &dimension : tensor.shape) {
    text += text.size() > 1 ? ", " : "";
    text += dimension.symbol >= 0 ? function.symbols[dimension.symbol]
                                  : std::to_string(dimension.extent);
  }
  return text + "]";
}

std::string tenon::runtime::cudaTargetsText(const Manifest &manifest) {
  std::string text;
  for (const std::string &target : manifest.cuda)
    text += (text.empty() ? "" : ", ") + target;
  if (!manifest.ptx.empty())
    text += (text.empty() ? "PTX for " : " and PTX for ") + manifest.ptx;
  return text.empty() ? "no GPU" : text;
}
