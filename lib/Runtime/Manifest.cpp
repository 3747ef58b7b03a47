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
  if (const TenonDataType *type = findTenonDataType(name))
    return type->number;
  wrong(where, "unknown dtype '" + name + "'; " +
                   listTenonDataTypes(&TenonDataType::name, " and ") +
                   " are known");
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

/// Makes room for one more tensor in the calls of `function`.
static void addTensor(FunctionInfo &function, const TensorInfo &tensor) {
  ++function.numTensors;
  function.descriptorWords += 3 + 2 * tensor.shape.size();
}

static std::vector<TensorInfo> parseTensors(const Json &object, const char *key,
                                            FunctionInfo &function) {
  std::vector<TensorInfo> tensors;
  bool isOutput = std::string("outputs") == key;
  std::string where = "function '" + function.name + "', " + key;
  for (const Json &value : array(field(object, key, where), where)) {
    TensorInfo tensor;
    tensor.name = string(field(value, "name", where), where);
    tensor.role = optionalString(value, "role");
    std::string here = where + ", '" + tensor.name + "'";
    tensor.dtype = parseDType(field(value, "dtype", here), here);
    for (const Json &dimension : array(field(value, "shape", here), here))
      tensor.shape.push_back(
          parseDimension(dimension, isOutput, function, here));
    addTensor(function, tensor);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

//===----------------------------------------------------------------------===//
// Packed tensors
//===----------------------------------------------------------------------===//

static int64_t integer(const Json &value, const std::string &where) {
  if (!value.is_number_integer())
    wrong(where, "an integer expected, " + value.dump() + " given");
  return value.get<int64_t>();
}

static PackedTensor parsePackedTensor(const Json &value) {
  PackedTensor tensor;
  tensor.name = string(field(value, "name", "packed"), "packed");
  std::string where = "packed, '" + tensor.name + "'";
  tensor.dtype = parseDType(field(value, "dtype", where), where);
  tensor.bytes = getTenonDataType(tensor.dtype).bytes;
  for (const Json &extent : array(field(value, "shape", where), where)) {
    tensor.shape.push_back({integer(extent, where)});
    if (tensor.shape.back().extent < 0 ||
        __builtin_mul_overflow(tensor.bytes, tensor.shape.back().extent,
                               &tensor.bytes))
      wrong(where, "wrong shape");
  }
  if (auto offset = value.find("offset"); offset != value.end())
    tensor.offset = integer(*offset, where);
  return tensor;
}

/// Numbers of packed tensors, from `least` on; makes room for each.
static std::vector<int32_t> parseNumbers(const Json &object, const char *key,
                                         int64_t least,
                                         const Manifest &manifest,
                                         FunctionInfo &function) {
  std::vector<int32_t> numbers;
  std::string where = "function '" + function.name + "', " + key;
  for (const Json &value : array(field(object, key, where), where)) {
    int64_t number = integer(value, where);
    if (number < least || number >= std::ssize(manifest.packed))
      wrong(where, "no packed tensor " + std::to_string(number));
    if (number >= 0)
      addTensor(function, manifest.packed[number]);
    numbers.push_back(static_cast<int32_t>(number));
  }
  return numbers;
}

static void parsePacked(const Json &json, Manifest &manifest) {
  auto packed = json.find("packed");
  if (packed == json.end())
    return;
  for (const Json &value : array(field(*packed, "tensors", "packed"), "packed"))
    manifest.packed.push_back(parsePackedTensor(value));
  for (const Json &value :
       array(field(*packed, "prepare", "packed"), "packed")) {
    PrepareInfo prepare;
    FunctionInfo &function = prepare.function;
    function.name = string(field(value, "name", "packed"), "packed");
    prepare.inputs = parseNumbers(value, "inputs", 0, manifest, function);
    prepare.outputs = parseNumbers(value, "outputs", 0, manifest, function);
    manifest.prepares.push_back(std::move(prepare));
  }
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

static FunctionInfo parseFunction(const Json &value, const Manifest &manifest) {
  FunctionInfo function;
  function.name = string(field(value, "name", "functions"), "functions");
  function.inputs = parseTensors(value, "inputs", function);
  function.outputs = parseTensors(value, "outputs", function);
  if (!value.contains("packed"))
    return function;
  function.packed = parseNumbers(value, "packed", -1, manifest, function);
  if (std::ranges::count(function.packed, -1) != std::ssize(function.inputs))
    wrong("function '" + function.name + "', packed",
          "as many -1 as the function has inputs expected");
  return function;
}

static void parseEntries(const Json &json, Manifest &manifest) {
  auto entries = json.find("entries");
  if (entries == json.end())
    return;
  for (const Json &value : array(*entries, "entries")) {
    EntryInfo entry{.name = optionalString(value, "name"),
                    .signature = {},
                    .prepare = optionalString(value, "prepare"),
                    .run = optionalString(value, "run"),
                    .inputs = optionalStrings(value, "inputs"),
                    .precision = optionalString(value, "precision"),
                    .reference = optionalString(value, "reference"),
                    .bounds = optionalString(value, "bounds")};
    if (auto signature = value.find("signature"); signature != value.end())
      entry.signature = parseFunction(*signature, manifest);
    for (const std::string &name : {entry.prepare, entry.run, entry.bounds})
      if (!name.empty() &&
          std::ranges::find(manifest.functions, name, &FunctionInfo::name) ==
              manifest.functions.end())
        wrong("entries", "'" + name + "' is no function of the model");
    manifest.entries.push_back(std::move(entry));
  }
}

TenonStatus tenon::runtime::parseManifest(const char *text,
                                          Manifest &manifest) {
  try {
    Json json = Json::parse(text);
    manifest.name = string(field(json, "name", "manifest"), "name");
    manifest.version = optionalString(json, "tenon");
    manifest.cpu = optionalString(json, "cpu");
    manifest.cuda = optionalStrings(json, "cuda");
    manifest.ptx = optionalString(json, "ptx");
    manifest.kernels = optionalStrings(json, "kernels");
    parsePacked(json, manifest);
    for (const Json &value :
         array(field(json, "functions", "manifest"), "functions"))
      manifest.functions.push_back(parseFunction(value, manifest));
    parseEntries(json, manifest);
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
