//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the inputs of an entry: those with a file first, since they give
// dynamic extents to the others. Random ones are the same on every machine: the
// SplitMix64 generator, whose n-th number needs no earlier one, seeded by the
// seed and the tensor's name. The standard library's distributions differ.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Error.h"
#include "Npy.h"

#include <algorithm>
#include <cmath>

using namespace tenon::run;

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Fills a tensor on the CPU as `tenon-run --help` says; `seed`, its name and
/// an element's index alone decide on the element.
static void fillRandom(Tensor &host, bool isParameter, uint64_t seed) {
  uint64_t start = mix(seed + kStep);
  for (unsigned char letter : host.name)
    start = mix(start ^ letter) + kStep;

  double low = -1, width = 2;
  if (host.name.find("var") != std::string::npos) {
    low = 0.5; // variances are positive
    width = 1;
  } else if (isParameter && host.shape.size() == 2 && host.shape[1] > 0) {
    low = -1 / std::sqrt(static_cast<double>(host.shape[1]));
    width = -2 * low;
  }
  for (int64_t i = 0, e = host.count(); i != e; ++i) {
    // 53 bits, all that a double in [0, 1) has.
    double unit = static_cast<double>(mix(start + i * kStep) >> 11) * 0x1p-53;
    host.set(i, low + width * unit);
  }
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

namespace {
/// An input, and the function whose symbols its shape has.
struct Input {
  const FunctionInfo *function;
  const TensorInfo *info;
};

class InputMaker {
public:
  InputMaker(Device &cpu, const EntryInfo &entry, const Arguments &arguments)
      : cpu(cpu), entry(entry), arguments(arguments), dims(arguments.dims) {}

  void collect(const FunctionInfo *function);
  void checkNames() const;
  Tensors make();

private:
  void read(const Input &input, const std::string &path);
  void generate(const Input &input);

  Device &cpu;
  const EntryInfo &entry;
  const Arguments &arguments;
  std::vector<Input> inputs;
  std::map<std::string, int64_t> dims;
  Tensors tensors;
};
} // namespace

/// The name of an extent; null of a fixed one.
static const std::string *getSymbol(const Input &input, size_t dim) {
  int32_t symbol = input.info->shape[dim].symbol;
  return symbol < 0 ? nullptr : &input.function->symbols[symbol];
}

/// Adds the inputs of a function that no earlier one has.
void InputMaker::collect(const FunctionInfo *function) {
  if (!function)
    return;
  for (const TensorInfo &info : function->inputs)
    if (info.role != "prepared" &&
        std::ranges::none_of(inputs, [&](const Input &other) {
          return other.info->name == info.name;
        }))
      inputs.push_back({function, &info});
}

/// Checks that each of what is given by name is one of `names`.
static void checkKnown(const auto &given, const std::vector<std::string> &names,
                       const std::string &option, const std::string &what) {
  for (const auto &[name, value] : given)
    if (std::ranges::find(names, name) == names.end())
      throw Error(option + " " + name + ": " + what + "; it has " +
                  (names.empty() ? "none" : join(names)));
}

void InputMaker::checkNames() const {
  std::vector<std::string> names, symbols;
  for (const Input &input : inputs) {
    names.push_back(input.info->name);
    for (size_t i = 0; i < input.info->shape.size(); ++i)
      if (const std::string *symbol = getSymbol(input, i);
          symbol && std::ranges::find(symbols, *symbol) == symbols.end())
        symbols.push_back(*symbol);
  }
  std::string hasNo = "'" + entry.name + "' has no such ";
  checkKnown(arguments.inputs, names, "--input", hasNo + "input");
  checkKnown(arguments.dims, symbols, "--dim", hasNo + "dynamic dimension");
}

/// Keeps the extents that the file gives to dynamic dimensions.
void InputMaker::read(const Input &input, const std::string &path) {
  const TensorInfo &info = *input.info;
  NpyFile file(path);
  file.checkFits(*input.function, info);
  for (size_t i = 0; i < info.shape.size(); ++i) {
    const std::string *symbol = getSymbol(input, i);
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
  Tensor tensor(cpu, info.name, info.dtype, file.shape);
  file.readInto(tensor);
  tensors.emplace(info.name, tensor);
}

void InputMaker::generate(const Input &input) {
  const TensorInfo &info = *input.info;
  std::vector<int64_t> shape;
  for (size_t i = 0; i < info.shape.size(); ++i) {
    const std::string *symbol = getSymbol(input, i);
    if (symbol && !dims.count(*symbol))
      throw Error("dimension '" + *symbol + "' of input '" + info.name +
                  "' has no extent; give --dim " + *symbol +
                  "=N, or the input with --input");
    shape.push_back(symbol ? dims[*symbol] : info.shape[i].extent);
  }
  Tensor tensor(cpu, info.name, info.dtype, shape);
  if (tensor.count() > 1 << 25)
    note("making " + std::to_string(tensor.count()) +
         " random numbers for input '" + info.name + "'");
  fillRandom(tensor, info.role == "param", arguments.seed);
  tensors.emplace(info.name, tensor);
}

Tensors InputMaker::make() {
  for (const Input &input : inputs)
    if (auto file = arguments.inputs.find(input.info->name);
        file != arguments.inputs.end())
      read(input, file->second);
  for (const Input &input : inputs)
    if (!tensors.count(input.info->name))
      generate(input);
  return std::move(tensors);
}

Tensors tenon::run::makeInputs(Device &cpu, const Manifest &manifest,
                               const EntryInfo &entry,
                               const Arguments &arguments) {
  InputMaker maker(cpu, entry, arguments);
  maker.collect(find(manifest, entry.run));
  maker.collect(find(manifest, entry.prepare));
  if (arguments.check)
    maker.collect(findReference(manifest, entry));
  maker.checkNames();
  return maker.make();
}
