//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls of a loaded model's functions.
//
//===----------------------------------------------------------------------===//

#include "Call.h"

#include "Error.h"

using namespace tenon::run;

void tenon::run::check(TenonStatus status) {
  if (status != TENON_OK)
    throw Error(tenonLastError());
}

//===----------------------------------------------------------------------===//
// Call
//===----------------------------------------------------------------------===//

/// The extents that the inputs give to the function's dynamic dimensions.
static std::map<std::string, int64_t>
bindDims(const FunctionInfo &info, const std::vector<const Tensor *> &inputs) {
  std::map<std::string, int64_t> dims;
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t j = 0; j < inputs[i]->shape.size(); ++j)
      if (auto *symbol = std::get_if<std::string>(&info.inputs[i].shape[j]))
        dims.emplace(*symbol, inputs[i]->shape[j]);
  return dims;
}

void Call::Views::point() {
  for (DLTensor &view : views)
    pointers.push_back(&view);
}

Call::Call(TenonModel *model, const FunctionInfo &info, Device &device,
           const std::vector<const Tensor *> &tensors)
    : device(device) {
  auto dims = bindDims(info, tensors);
  for (const TensorInfo &output : info.outputs) {
    std::vector<int64_t> shape;
    for (const auto &extent : output.shape) {
      auto *symbol = std::get_if<std::string>(&extent);
      shape.push_back(symbol ? dims.at(*symbol) : std::get<int64_t>(extent));
    }
    outputs.emplace_back(device, output.name, output.dtype, shape).poison();
  }
  for (const Tensor *tensor : tensors)
    inputs.views.push_back(tensor->view());
  for (const Tensor &tensor : outputs)
    results.views.push_back(tensor.view());
  inputs.point();
  results.point();

  check(tenonModelFunction(model, info.name.c_str(), &function));
  check(tenonFunctionWorkspaceSize(function, inputs.pointers.data(),
                                   inputs.views.size(), &workspaceBytes));
  if (!workspaceBytes)
    return;
  workspace.emplace(device, workspaceBytes, "the workspace");
  device.poison(workspace->data(), workspaceBytes);
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

/// Inputs by name; prepared ones are the outputs of prepare, in order.
std::vector<const Tensor *>
Program::gather(const FunctionInfo &function) const {
  std::vector<const Tensor *> tensors;
  size_t numPrepared = 0;
  for (const TensorInfo &input : function.inputs) {
    if (input.role != "prepared") {
      tensors.push_back(copies.empty() ? &host.at(input.name)
                                       : &copies.at(input.name));
      continue;
    }
    if (!prepare || numPrepared == prepare->outputs.size())
      throw Error("function '" + function.name +
                  "' takes more prepared tensors than its entry prepares; "
                  "compile the model again");
    tensors.push_back(&prepare->outputs[numPrepared++]);
  }
  return tensors;
}

Program::Program(TenonModel *model, const ModelInfo &info,
                 const EntryInfo &entry, Device &device, const Tensors &inputs)
    : host(inputs) {
  check(tenonModelLoad(model, device.id()));
  if (!device.isCpu())
    for (const auto &[name, tensor] : inputs)
      copies.emplace(name, Tensor(device, tensor));
  if (const FunctionInfo *function = info.find(entry.prepare)) {
    prepare.emplace(model, *function, device, gather(*function));
    (*prepare)();
  }
  const FunctionInfo &function = *info.find(entry.run);
  run.emplace(model, function, device, gather(function));
}
