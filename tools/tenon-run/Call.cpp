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
static std::vector<int64_t>
bindDims(const FunctionInfo &info, const std::vector<const Tensor *> &inputs) {
  std::vector<int64_t> dims(info.symbols.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t j = 0; j < inputs[i]->shape.size(); ++j)
      if (int32_t symbol = info.inputs[i].shape[j].symbol; symbol >= 0)
        dims[symbol] = inputs[i]->shape[j];
  return dims;
}

void Call::Views::add(const std::vector<const Tensor *> &tensors) {
  for (const Tensor *tensor : tensors)
    views.push_back(tensor->view());
  for (DLTensor &view : views)
    pointers.push_back(&view);
}

Call::Call(TenonModel *model, const FunctionInfo &info, Device &device,
           const std::vector<const Tensor *> &tensors)
    : device(device) {
  std::vector<int64_t> dims = bindDims(info, tensors);
  for (const TensorInfo &output : info.outputs) {
    std::vector<int64_t> shape;
    for (const runtime::Dimension &dim : output.shape)
      shape.push_back(dim.symbol < 0 ? dim.extent : dims[dim.symbol]);
    outputs.emplace_back(device, output.name, output.dtype, shape).poison();
  }
  std::vector<const Tensor *> made;
  for (const Tensor &tensor : outputs)
    made.push_back(&tensor);
  inputs.add(tensors);
  results.add(made);

  check(tenonModelFunction(model, info.name.c_str(), &function));
  check(tenonFunctionWorkspaceSize(function, inputs.pointers.data(),
                                   inputs.views.size(), &workspaceBytes));
  if (!workspaceBytes)
    return;
  workspace = device.make(workspaceBytes, "the workspace");
  device.poison(workspace.get(), workspaceBytes);
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
      tensors.push_back(&inputs.at(input.name));
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

Program::Program(TenonModel *model, const Manifest &manifest,
                 const EntryInfo &entry, Device &device, const Tensors &host)
    : device(device) {
  check(tenonModelLoad(model, device.id()));
  for (const auto &[name, tensor] : host)
    inputs.emplace(name, device.isCpu() ? tensor : Tensor(device, tensor));
  if (const FunctionInfo *function = find(manifest, entry.prepare)) {
    prepare.emplace(model, *function, device, gather(*function));
    (*prepare)();
  }
  const FunctionInfo &function = *find(manifest, entry.run);
  run.emplace(model, function, device, gather(function));
}

std::vector<Tensor> Program::getOutputs(Device &cpu) {
  call()();
  device.synchronize();
  std::vector<Tensor> outputs;
  for (const Tensor &output : call().outputs)
    outputs.push_back(output.toHost(cpu));
  return outputs;
}
