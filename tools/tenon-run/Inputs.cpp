//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the inputs of an entry: those with a file first, since they give
// dynamic extents to the others.
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

#include "Error.h"
#include "Npy.h"
#include "Random.h"
#include "Text.h"

#include <algorithm>

using namespace tenon::run;

namespace {
class InputMaker {
public:
  InputMaker(Device &cpu, const ModelInfo &model, const EntryInfo &entry,
             const Arguments &arguments)
      : cpu(cpu), model(model), entry(entry), arguments(arguments),
        dims(arguments.dims) {}

  Tensors make();

private:
  void collect(const std::string &function);
  void checkNames() const;
  void read(const TensorInfo &info, const std::string &path);
  void generate(const TensorInfo &info);
  void bind(const TensorInfo &info, const NpyFile &file,
            const std::string &path);

  Device &cpu;
  const ModelInfo &model;
  const EntryInfo &entry;
  const Arguments &arguments;
  std::vector<const TensorInfo *> infos;
  std::map<std::string, int64_t> dims;
  Tensors tensors;
};
} // namespace

/// Adds the inputs of a function that no earlier one has.
void InputMaker::collect(const std::string &function) {
  const FunctionInfo *found = model.find(function);
  if (!found)
    return;
  for (const TensorInfo &info : found->inputs) {
    auto isSame = [&](const TensorInfo *other) {
      return other->name == info.name;
    };
    if (info.role != "prepared" && std::ranges::none_of(infos, isSame))
      infos.push_back(&info);
  }
}

void InputMaker::checkNames() const {
  std::vector<std::string> names, symbols;
  for (const TensorInfo *info : infos) {
    names.push_back(info->name);
    for (const auto &extent : info->shape)
      if (auto *symbol = std::get_if<std::string>(&extent))
        if (std::ranges::find(symbols, *symbol) == symbols.end())
          symbols.push_back(*symbol);
  }
  for (const auto &[name, path] : arguments.inputs)
    if (std::ranges::find(names, name) == names.end())
      throw Error("--input " + name + ": '" + entry.name +
                  "' has no such input; it has " +
                  (names.empty() ? "none" : join(names)));
  for (const auto &[name, extent] : arguments.dims)
    if (std::ranges::find(symbols, name) == symbols.end())
      throw Error("--dim " + name + ": '" + entry.name +
                  "' has no such dynamic dimension; it has " +
                  (symbols.empty() ? "none" : join(symbols)));
}

/// Keeps the extents that the file gives to dynamic dimensions.
void InputMaker::bind(const TensorInfo &info, const NpyFile &file,
                      const std::string &path) {
  for (size_t i = 0; i < info.shape.size(); ++i) {
    auto *symbol = std::get_if<std::string>(&info.shape[i]);
    if (!symbol)
      continue;
    auto [known, isNew] = dims.emplace(*symbol, file.shape[i]);
    if (known->second != file.shape[i])
      throw Error(
          "dimension '" + *symbol + "' is " + std::to_string(file.shape[i]) +
          " in '" + path + "', but " + std::to_string(known->second) +
          (arguments.dims.count(*symbol) ? " by --dim" : " in another input") +
          "; they must agree");
  }
}

void InputMaker::read(const TensorInfo &info, const std::string &path) {
  NpyFile file(path);
  file.checkFits(info);
  bind(info, file, path);
  auto made = tensors.emplace(info.name,
                              Tensor(cpu, info.name, info.dtype, file.shape));
  file.readInto(made.first->second);
}

void InputMaker::generate(const TensorInfo &info) {
  std::vector<int64_t> shape;
  for (const auto &extent : info.shape) {
    auto *symbol = std::get_if<std::string>(&extent);
    if (symbol && !dims.count(*symbol))
      throw Error("dimension '" + *symbol + "' of input '" + info.name +
                  "' has no extent; give --dim " + *symbol +
                  "=N, or the input with --input");
    shape.push_back(symbol ? dims[*symbol] : std::get<int64_t>(extent));
  }
  Tensor tensor(cpu, info.name, info.dtype, shape);
  if (tensor.count() > 1 << 25)
    note("making " + std::to_string(tensor.count()) +
         " random numbers for input '" + info.name + "'");
  fillRandom(tensor, info.role == "param", arguments.seed);
  tensors.emplace(info.name, std::move(tensor));
}

Tensors InputMaker::make() {
  collect(entry.run);
  collect(entry.prepare);
  if (arguments.check)
    if (const FunctionInfo *reference = model.findReference(entry))
      collect(reference->name);
  checkNames();
  for (const TensorInfo *info : infos)
    if (auto file = arguments.inputs.find(info->name);
        file != arguments.inputs.end())
      read(*info, file->second);
  for (const TensorInfo *info : infos)
    if (!tensors.count(info->name))
      generate(*info);
  return std::move(tensors);
}

Tensors tenon::run::makeInputs(Device &cpu, const ModelInfo &model,
                               const EntryInfo &entry,
                               const Arguments &arguments) {
  return InputMaker(cpu, model, entry, arguments).make();
}
