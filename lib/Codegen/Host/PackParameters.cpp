//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites a model's description, and gathers the values.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Host/PackParameters.h"

#include "RoundValues.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tenon;

/// Of every parameter in the image: what a GPU's allocations have.
static constexpr uint64_t kAlignment = 256;

void tenon::nameRunFunctions(ModuleOp prepared,
                             std::vector<EntryDescription> &entries) {
  for (EntryDescription &entry : entries) {
    if (entry.prepare.empty())
      continue;
    prepared.lookupSymbol<func::FuncOp>(entry.run).setName(
        entry.signature.name);
    entry.run = entry.signature.name;
  }
}

namespace {
class Packer {
public:
  Packer(ModelDescription &model, const SafeTensors &file, bool casts)
      : model(model), file(file), casts(casts) {}

  llvm::Expected<std::string> pack();

private:
  int64_t addParameter(const TensorDescription &tensor);
  void packPrepare(EntryDescription &entry);
  void packFunction(FunctionDescription &function);
  std::string problemOf(const TensorDescription &tensor,
                        const SafeTensors::Tensor *given) const;
  std::string addValues(const TensorDescription &tensor);

  ModelDescription &model;
  const SafeTensors &file;
  bool casts;
  llvm::StringMap<int64_t> parameters;
  /// By function, what its entry prepares for it.
  llvm::StringMap<std::vector<int64_t>> prepared;
  std::string values, problems;
};
} // namespace

static std::string typeText(StringRef dtype, ArrayRef<int64_t> shape) {
  return (dtype + " [" +
          llvm::join(llvm::map_range(shape, llvm::itostr), ", ") + "]")
      .str();
}

/// The extents of `tensor`; nothing if one is dynamic.
static std::optional<std::vector<int64_t>>
staticShape(const TensorDescription &tensor) {
  std::vector<int64_t> shape;
  for (const auto &extent : tensor.shape) {
    if (!std::holds_alternative<int64_t>(extent))
      return std::nullopt;
    shape.push_back(std::get<int64_t>(extent));
  }
  return shape;
}

/// What the file has, cut where it is much.
static std::string listNames(const SafeTensors &file) {
  constexpr size_t kMost = 8;
  std::vector<StringRef> names = file.getNames();
  std::string text;
  for (StringRef name : ArrayRef(names).take_front(kMost))
    text += (text.empty() ? "; it has '" : ", '") + name.str() + "'";
  return names.size() > kMost ? text + ", ..." : text;
}

/// What is wrong with the values `given` for a parameter, "" if nothing.
std::string Packer::problemOf(const TensorDescription &tensor,
                              const SafeTensors::Tensor *given) const {
  auto shape = staticShape(tensor);
  if (!shape)
    return "has a dynamic extent; packed parameters have fixed ones";
  if (!given) {
    std::string prefix = file.getPrefix().str();
    return "is not there" +
           (prefix.empty() ? "" : " as '" + prefix + tensor.name + "'") +
           listNames(file);
  }
  bool isFloat = findTenonDataType(given->dtype);
  if (*shape == given->shape &&
      (tensor.dtype == given->dtype || (casts && isFloat)))
    return "";
  return "is " + typeText(given->dtype, given->shape) + ", but the model's " +
         "is " + typeText(tensor.dtype, *shape) +
         (*shape == given->shape && isFloat ? "; cast-parameters rounds it"
                                            : "");
}

/// Appends the values of a parameter; returns what is wrong with them, "" if
/// nothing.
std::string Packer::addValues(const TensorDescription &tensor) {
  const SafeTensors::Tensor *given = file.find(tensor.name);
  std::string problem = problemOf(tensor, given);
  if (!problem.empty())
    return problem;
  if (tensor.dtype == given->dtype) {
    values += given->values;
    return "";
  }
  std::optional<double> lost =
      appendRounded(given->values, *findTenonDataType(given->dtype),
                    *findTenonDataType(tensor.dtype), values);
  if (!lost)
    return "";
  return llvm::formatv("has {0:e}, which {1} does not hold", *lost,
                       tensor.dtype);
}

int64_t Packer::addParameter(const TensorDescription &tensor) {
  auto [known, isNew] =
      parameters.try_emplace(tensor.name, std::ssize(model.packed));
  if (!isNew)
    return known->second;
  PackedTensorDescription &packed = model.packed.emplace_back();
  static_cast<TensorDescription &>(packed) = tensor;
  packed.role = "";
  values.resize(llvm::alignTo(values.size(), kAlignment));
  packed.offset = values.size();
  if (std::string problem = addValues(tensor); !problem.empty())
    problems += "\n  '" + tensor.name + "' " + problem;
  return known->second;
}

/// The entry's prepare function is the runtime's from now on.
void Packer::packPrepare(EntryDescription &entry) {
  auto function = llvm::find_if(model.functions, [&](const auto &candidate) {
    return candidate.name == entry.prepare;
  });
  PrepareDescription prepare;
  prepare.name = entry.prepare;
  for (const TensorDescription &tensor : function->inputs)
    prepare.inputs.push_back(addParameter(tensor));
  for (const TensorDescription &tensor : function->outputs) {
    prepare.outputs.push_back(std::ssize(model.packed));
    PackedTensorDescription &packed = model.packed.emplace_back();
    static_cast<TensorDescription &>(packed) = tensor;
    packed.name = prepare.name + "." + tensor.name; // for messages
  }
  prepared[entry.run] = prepare.outputs;
  model.prepares.push_back(std::move(prepare));
  model.functions.erase(function);
  entry.prepare = "";
}

void Packer::packFunction(FunctionDescription &function) {
  const std::vector<int64_t> &outputs = prepared[function.name];
  size_t numPrepared = 0;
  std::vector<TensorDescription> activations;
  for (TensorDescription &tensor : function.inputs) {
    if (tensor.role == "param")
      function.packed.push_back(addParameter(tensor));
    else if (tensor.role == "prepared")
      function.packed.push_back(outputs[numPrepared++]);
    else {
      function.packed.push_back(-1);
      activations.push_back(std::move(tensor));
    }
  }
  function.inputs = std::move(activations);
}

llvm::Expected<std::string> Packer::pack() {
  for (EntryDescription &entry : model.entries)
    if (!entry.prepare.empty())
      packPrepare(entry);
  for (FunctionDescription &function : model.functions)
    packFunction(function);
  for (EntryDescription &entry : model.entries)
    llvm::erase_if(entry.signature.inputs, [](const TensorDescription &input) {
      return input.role == "param";
    });
  if (!problems.empty())
    return llvm::createStringError("parameters do not match those of '" +
                                   file.getPath() + "':" + problems);
  return std::move(values);
}

llvm::Expected<std::string> tenon::packParameters(ModelDescription &model,
                                                  const SafeTensors &file,
                                                  bool casts) {
  return Packer(model, file, casts).pack();
}
