//===- Division.cpp - Functions in two parts ------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Division.h"

#include "Error.h"
#include "Model.h"

#include <algorithm>
#include <stdexcept>

using namespace tenon::runtime;

/// Of each prepared tensor, and of the workspace behind them.
static constexpr uint64_t kAlignment = 256;

static uint64_t align(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

//===----------------------------------------------------------------------===//
// Which tensor goes where
//===----------------------------------------------------------------------===//

static TenonFunction *find(std::vector<TenonFunction> &functions,
                           const std::string &name) {
  for (TenonFunction &function : functions)
    if (function.info->name == name)
      return &function;
  throw std::invalid_argument("the model has no function '" + name + "'");
}

/// Numbers of the tensors `wanted`, but prepared ones, among `tensors`.
static std::vector<size_t> numbersOf(const std::vector<TensorInfo> &wanted,
                                     const std::vector<TensorInfo> &tensors) {
  std::vector<size_t> numbers;
  for (const TensorInfo &tensor : wanted) {
    if (tensor.role == "prepared")
      continue;
    auto found = std::ranges::find(tensors, tensor.name, &TensorInfo::name);
    if (found == tensors.end())
      throw std::invalid_argument("the model's signature lacks '" +
                                  tensor.name + "'");
    numbers.push_back(static_cast<size_t>(found - tensors.begin()));
  }
  return numbers;
}

std::unique_ptr<Division>
tenon::runtime::divide(const EntryInfo &entry,
                       std::vector<TenonFunction> &functions) {
  auto division = std::make_unique<Division>();
  division->prepare = find(functions, entry.prepare);
  division->run = find(functions, entry.run);
  const std::vector<TensorInfo> &inputs = entry.signature.inputs;
  std::vector<TensorInfo> parameters;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].role == "param") {
      division->parameters.push_back(i);
      parameters.push_back(inputs[i]);
    }
  division->prepareInputs =
      numbersOf(division->prepare->info->inputs, parameters);
  division->runInputs = numbersOf(division->run->info->inputs, inputs);
  return division;
}

using Tensors = std::vector<const DLTensor *>;

static Tensors pick(const DLTensor *const *tensors,
                    const std::vector<size_t> &numbers) {
  Tensors picked;
  for (size_t number : numbers)
    picked.push_back(tensors[number]);
  return picked;
}

namespace {
/// What a prepare function gives for its inputs: one tensor behind the other.
class Prepared {
public:
  /// Checks `parameters`, all of the function's.
  TenonStatus layOut(const Division &division,
                     const DLTensor *const *parameters);

  /// Says where the tensors lie.
  void place(void *memory);

  /// The inputs of the function's run function.
  Tensors runInputs(const Division &division,
                    const DLTensor *const *inputs) const;

  Tensors inputs; ///< the prepare function's
  std::vector<DLTensor> tensors;
  uint64_t bytes = 0;

private:
  std::vector<uint64_t> offsets;
  std::vector<int64_t> shapes;
};
} // namespace

TenonStatus Prepared::layOut(const Division &division,
                             const DLTensor *const *parameters) {
  const FunctionInfo &info = *division.prepare->info;
  inputs = pick(parameters, division.prepareInputs);
  DLDevice device;
  if (TenonStatus status = checkTensors(
          info,
          {inputs.data(), static_cast<int32_t>(inputs.size()), nullptr, 0},
          CheckScope::Sizes, device))
    return status;
  std::vector<int64_t> extents(info.symbols.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t d = 0; d < info.inputs[i].shape.size(); ++d)
      if (int32_t symbol = info.inputs[i].shape[d].symbol; symbol >= 0)
        extents[symbol] = inputs[i]->shape[d];
  for (const TensorInfo &output : info.outputs)
    for (const Dimension &dimension : output.shape)
      shapes.push_back(dimension.symbol < 0 ? dimension.extent
                                            : extents[dimension.symbol]);
  int64_t *shape = shapes.data();
  for (const TensorInfo &output : info.outputs) {
    const TenonDataType &type = getTenonDataType(output.dtype);
    auto rank = static_cast<int32_t>(output.shape.size());
    DLDataType dtype{static_cast<uint8_t>(type.dlpackCode),
                     static_cast<uint8_t>(8 * type.bytes), 1};
    tensors.push_back({nullptr, device, rank, dtype, shape, nullptr, 0});
    offsets.push_back(bytes);
    uint64_t size = type.bytes;
    for (int32_t d = 0; d < rank; ++d)
      size *= static_cast<uint64_t>(*shape++);
    bytes += align(size);
  }
  return TENON_OK;
}

void Prepared::place(void *memory) {
  for (size_t i = 0; i < tensors.size(); ++i)
    tensors[i].data = static_cast<char *>(memory) + offsets[i];
}

Tensors Prepared::runInputs(const Division &division,
                            const DLTensor *const *inputs) const {
  Tensors given = pick(inputs, division.runInputs);
  for (const DLTensor &tensor : tensors)
    given.push_back(&tensor);
  return given;
}

//===----------------------------------------------------------------------===//
// Calls of the parts
//===----------------------------------------------------------------------===//

static TenonStatus workspaceSize(TenonFunction &function, const Tensors &inputs,
                                 size_t &bytes) {
  return tenonFunctionWorkspaceSize(
      &function, inputs.data(), static_cast<int32_t>(inputs.size()), &bytes);
}

static TenonStatus call(TenonFunction &function, const Tensors &inputs,
                        DLTensor *const *outputs, size_t numOutputs,
                        void *workspace, uint64_t bytes, void *stream) {
  return tenonFunctionRun(
      &function, inputs.data(), static_cast<int32_t>(inputs.size()), outputs,
      static_cast<int32_t>(numOutputs), workspace, bytes, stream);
}

static TenonStatus callPrepare(const Division &division, Prepared &prepared,
                               void *workspace, uint64_t bytes, void *stream) {
  std::vector<DLTensor *> outputs;
  for (DLTensor &tensor : prepared.tensors)
    outputs.push_back(&tensor);
  return call(*division.prepare, prepared.inputs, outputs.data(),
              outputs.size(), workspace, bytes, stream);
}

static TenonStatus checkPrepared(const TenonFunction &function,
                                 const Prepared &prepared,
                                 PreparedMemory memory) {
  return checkWorkspace(*function.info, static_cast<int64_t>(prepared.bytes),
                        memory.data, memory.bytes, "prepared buffer",
                        "its _prepare_workspace_size");
}

static TenonStatus checkCount(const TenonFunction &function, int32_t count) {
  size_t expected = function.division->parameters.size();
  return static_cast<size_t>(count) == expected
             ? TENON_OK
             : fail(TENON_INVALID_ARGUMENT,
                    "%s: %zu parameters expected, %d given (is its header "
                    "older than the model?)",
                    function.info->name.c_str(), expected, count);
}

//===----------------------------------------------------------------------===//
// Calls of the whole
//===----------------------------------------------------------------------===//

namespace {
/// How the workspace of a whole function is used: what is prepared, then the
/// workspace of the part that runs.
struct WholeCall {
  TenonStatus plan(const Division &division, const DLTensor *const *inputs);

  Prepared prepared;
  Tensors runInputs;
  size_t partBytes = 0; ///< the larger of the parts' workspaces
  uint64_t bytes = 0;
};
} // namespace

TenonStatus WholeCall::plan(const Division &division,
                            const DLTensor *const *inputs) {
  Tensors parameters = pick(inputs, division.parameters);
  if (TenonStatus status = prepared.layOut(division, parameters.data()))
    return status;
  runInputs = prepared.runInputs(division, inputs);
  size_t prepareBytes = 0, runBytes = 0;
  if (TenonStatus status =
          workspaceSize(*division.prepare, prepared.inputs, prepareBytes))
    return status;
  if (TenonStatus status = workspaceSize(*division.run, runInputs, runBytes))
    return status;
  partBytes = std::max(prepareBytes, runBytes);
  bytes = prepared.bytes + partBytes;
  return TENON_OK;
}

TenonStatus tenon::runtime::dividedWorkspaceSize(const TenonFunction &function,
                                                 const DLTensor *const *inputs,
                                                 size_t &bytes) {
  WholeCall whole;
  TenonStatus status = whole.plan(*function.division, inputs);
  bytes = status ? 0 : whole.bytes;
  return status;
}

TenonStatus tenon::runtime::runDivided(const TenonFunction &function,
                                       const CallTensors &tensors,
                                       void *workspace, uint64_t bytes,
                                       void *stream) {
  DLDevice device;
  if (TenonStatus status =
          checkTensors(*function.info, tensors, CheckScope::All, device))
    return status;
  const Division &division = *function.division;
  WholeCall whole;
  if (TenonStatus status = whole.plan(division, tensors.inputs))
    return status;
  if (TenonStatus status = checkWorkspace(
          *function.info, static_cast<int64_t>(whole.bytes), workspace, bytes))
    return status;
  whole.prepared.place(workspace);
  void *rest = static_cast<char *>(workspace) + whole.prepared.bytes;
  if (TenonStatus status =
          callPrepare(division, whole.prepared, rest, whole.partBytes, stream))
    return status;
  return call(*division.run, whole.runInputs, tensors.outputs,
              static_cast<size_t>(tensors.numOutputs), rest, whole.partBytes,
              stream);
}

//===----------------------------------------------------------------------===//
// Calls in two steps
//===----------------------------------------------------------------------===//

TenonStatus tenon::runtime::prepareSizes(const TenonFunction &function,
                                         const DLTensor *const *parameters,
                                         int32_t numParameters,
                                         size_t &preparedBytes, size_t &bytes) {
  if (TenonStatus status = checkCount(function, numParameters))
    return status;
  const Division &division = *function.division;
  Prepared prepared;
  if (TenonStatus status = prepared.layOut(division, parameters))
    return status;
  preparedBytes = prepared.bytes;
  return workspaceSize(*division.prepare, prepared.inputs, bytes);
}

TenonStatus tenon::runtime::prepareDivided(const TenonFunction &function,
                                           const DLTensor *const *parameters,
                                           int32_t numParameters,
                                           PreparedMemory memory,
                                           void *workspace, uint64_t bytes,
                                           void *stream) {
  if (TenonStatus status = checkCount(function, numParameters))
    return status;
  Prepared prepared;
  if (TenonStatus status = prepared.layOut(*function.division, parameters))
    return status;
  if (TenonStatus status = checkPrepared(function, prepared, memory))
    return status;
  prepared.place(memory.data);
  return callPrepare(*function.division, prepared, workspace, bytes, stream);
}

/// Checks the inputs of a function as its author wrote it.
static TenonStatus layOut(const TenonFunction &function,
                          const CallTensors &tensors, CheckScope scope,
                          Prepared &prepared) {
  DLDevice device;
  if (TenonStatus status = checkTensors(*function.info, tensors, scope, device))
    return status;
  const Division &division = *function.division;
  return prepared.layOut(division,
                         pick(tensors.inputs, division.parameters).data());
}

TenonStatus
tenon::runtime::runPreparedWorkspaceSize(const TenonFunction &function,
                                         const DLTensor *const *inputs,
                                         int32_t numInputs, size_t *bytes) {
  if (!bytes)
    return fail(TENON_INVALID_ARGUMENT, "%s: null bytes",
                function.info->name.c_str());
  *bytes = 0;
  Prepared prepared;
  if (TenonStatus status = layOut(function, {inputs, numInputs, nullptr, 0},
                                  CheckScope::Sizes, prepared))
    return status;
  const Division &division = *function.division;
  return workspaceSize(*division.run, prepared.runInputs(division, inputs),
                       *bytes);
}

TenonStatus tenon::runtime::runPrepared(const TenonFunction &function,
                                        const CallTensors &tensors,
                                        PreparedMemory memory, void *workspace,
                                        uint64_t bytes, void *stream) {
  Prepared prepared;
  if (TenonStatus status = layOut(function, tensors, CheckScope::All, prepared))
    return status;
  if (TenonStatus status = checkPrepared(function, prepared, memory))
    return status;
  prepared.place(memory.data);
  const Division &division = *function.division;
  return call(*division.run, prepared.runInputs(division, tensors.inputs),
              tensors.outputs, static_cast<size_t>(tensors.numOutputs),
              workspace, bytes, stream);
}
