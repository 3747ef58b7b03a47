//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel of torch.ops.tenon.fused(function, inputs, outputs). It runs what
// Python has bound on contiguous tensors, and takes what Python has prepared of
// parameters while these are as they were, which only the interpreter knows.
// All else it hands to torch.ops.tenon.handed_over, which binds what it can for
// the next call. That op is told the function by a number: PyTorch 2.13 loses
// the memory of a string that it is handed from here.
//
//===----------------------------------------------------------------------===//

#include "OpFailure.h"
#include "OpTable.h"
#include "TorchAbi.h"

#include <algorithm>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <stdexcept>
#include <utility>

using namespace tenon::python;
namespace nb = nanobind;
using namespace nb::literals;

//===----------------------------------------------------------------------===//
// Calls that Python runs
//===----------------------------------------------------------------------===//

/// Where handed_over leaves the exception of a call that this thread's
/// kernel has handed to it; null outside of such calls. PyTorch would make a
/// number of it on the way back.
static thread_local OpFailure **handedOver = nullptr;

/// Returns what went wrong, or null.
static OpFailure *runInPython(const TorchAbi &abi, const OpFunction &function,
                              ListArgument &inputs, ListArgument &outputs) {
  StableIValue stack[] = {static_cast<StableIValue>(function.number),
                          inputs.release(), outputs.release()};
  OpFailure *failure = nullptr;
  OpFailure **outer = std::exchange(handedOver, &failure);
  TorchError error =
      abi.callDispatcher("tenon::handed_over", "", stack, kTorchVersion);
  handedOver = outer;
  if (error && !failure)
    failure = new OpFailure(TENON_OK,
                            "tenon::fused: PyTorch could not call handed_over");
  return failure;
}

/// True where a kernel of this thread waits for the exception and throws it.
static bool keepOpError(nb::handle exception) {
  if (!handedOver)
    return false;
  if (!*handedOver)
    *handedOver = new OpFailure(exception);
  return true;
}

//===----------------------------------------------------------------------===//
// Calls that run here
//===----------------------------------------------------------------------===//

/// True if the tensor is on the device, contiguous and has memory, or needs
/// none. Zeros that automatic differentiation makes have none.
static bool isPlain(const TorchAbi &abi, TorchTensor tensor, int32_t index,
                    const void *data) {
  int32_t itsIndex;
  bool isContiguous;
  int64_t numel = 0;
  return !abi.deviceIndex(tensor, &itsIndex) && itsIndex == index &&
         !abi.isContiguous(tensor, &isContiguous) && isContiguous &&
         (data || (!abi.numel(tensor, &numel) && numel == 0));
}

/// Identity of the tensor itself, as `_cdata` has it in Python. A handle points
/// to an at::Tensor, whose one member it is; were it another, no parameter
/// would be known by it, and Python would run the call.
static const void *identityOf(TorchTensor handle) {
  return *reinterpret_cast<const void *const *>(handle);
}

/// Returns what is prepared of the parameters among the inputs; null if Python
/// is to prepare it.
static PreparedPtr findPrepared(const Binding &binding,
                                const ListArgument &inputs, void *stream) {
  PreparedTable::Key key;
  key.reserve(binding.parameters.size());
  for (uint32_t input : binding.parameters)
    key.push_back(identityOf(inputs[input]));
  nb::gil_scoped_acquire locked;
  try {
    return binding.prepared.find(key, stream);
  } catch (nb::python_error &) {
    return nullptr; // Python comes upon it too
  }
}

/// Puts pointers and extents into the frame; false if Python is to see to it.
static bool fill(const TorchAbi &abi, const Binding &binding,
                 const ListArgument &inputs, const ListArgument &outputs,
                 const Prepared *prepared, Frame &frame) {
  const Launcher &launcher = binding.launcher;
  DLTensor *next = frame.tensors + launcher.numInputs;
  // Outputs first: asking for memory to write may be what makes a copy of it.
  for (size_t i = 0; i < outputs.size(); ++i, ++next)
    if (abi.mutableData(outputs[i], &next->data) ||
        !isPlain(abi, outputs[i], binding.deviceIndex, next->data))
      return false;
  next = frame.tensors;
  for (uint32_t source : binding.sources) {
    if (source >= binding.numInputs) {
      next++->data = prepared->pointers[source - binding.numInputs];
      continue;
    }
    const void *data;
    if (abi.constData(inputs[source], &data) ||
        !isPlain(abi, inputs[source], binding.deviceIndex, data))
      return false;
    next++->data = const_cast<void *>(data);
  }
  for (size_t symbol = 0; symbol < binding.extents.size(); ++symbol) {
    auto [input, width] = binding.extents[symbol];
    int64_t numel;
    if (abi.numel(inputs[input], &numel))
      return false;
    frame.setExtent(launcher, symbol, numel / width);
  }
  return true;
}

static void *currentStream(const TorchAbi &abi, int32_t deviceIndex) {
  void *stream = nullptr;
  if (deviceIndex >= 0 && abi.currentCudaStream(deviceIndex, &stream))
    throw std::runtime_error("tenon::fused: PyTorch has no current stream");
  return stream;
}

static TenonStatus launch(const TorchAbi &abi, const Binding &binding,
                          const Frame &frame, void *stream) {
  const Launcher &launcher = binding.launcher;
  size_t bytes = binding.staticBytes;
  if (!binding.extents.empty())
    if (TenonStatus status = frame.workspaceBytes(launcher, bytes))
      return status;
  Workspace workspace(abi, binding.deviceIndex, bytes);
  return frame.run(launcher, workspace.data(), bytes, stream);
}

/// Runs a call, unless Python is to: then there is no status.
static std::optional<TenonStatus> runHere(const TorchAbi &abi,
                                          const Binding &binding,
                                          const ListArgument &inputs,
                                          const ListArgument &outputs) {
  const Launcher &launcher = binding.launcher;
  if (inputs.size() != binding.numInputs ||
      outputs.size() != launcher.numTensors() - launcher.numInputs)
    return std::nullopt;
  void *stream = currentStream(abi, binding.deviceIndex);
  PreparedPtr prepared;
  if (!binding.parameters.empty() &&
      !(prepared = findPrepared(binding, inputs, stream)))
    return std::nullopt;
  Frame frame(launcher);
  if (!fill(abi, binding, inputs, outputs, prepared.get(), frame))
    return std::nullopt;
  return launch(abi, binding, frame, stream);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Returns what went wrong, or null. All that the stack holds is used up.
static OpFailure *run(const TorchAbi &abi, StableIValue *stack) {
  StringArgument text(abi, stack[0]);
  ListArgument inputs(abi, stack[1]), outputs(abi, stack[2]);
  OpFunction &function = OpTable::get().function(text.text());
  int32_t index;
  if (inputs.size() && !abi.deviceIndex(inputs[0], &index))
    if (const Binding *binding = function.find(index))
      if (auto status = runHere(abi, *binding, inputs, outputs))
        return *status ? new OpFailure(*status, tenonLastError()) : nullptr;
  return runInPython(abi, function, inputs, outputs);
}

[[gnu::noinline]] static OpFailure *runOrFail(StableIValue *stack) noexcept {
  try {
    return run(*TorchAbi::get(), stack);
  } catch (const std::exception &error) {
    return new OpFailure(TENON_OK, error.what());
  }
}

/// What PyTorch calls. It has nothing to clean up when it throws.
static void kernel(StableIValue *stack, uint64_t, uint64_t) {
  if (OpFailure *failure = runOrFail(stack))
    throwToTorch(failure);
}

//===----------------------------------------------------------------------===//
// Python's side
//===----------------------------------------------------------------------===//

static bool implementOp(const std::string &key) {
  const TorchAbi *abi = TorchAbi::get();
  if (!abi || (key == "CUDA" && !abi->currentCudaStream))
    return false;
  TorchLibrary library; // stays: deleting it would take the kernel back
  return !abi->initLibrary("tenon", key.c_str(), __FILE__, __LINE__,
                           &library) &&
         !abi->implement(library, "fused", kernel, kTorchVersion);
}

/// True if the kernel can run what Python says of a function.
static bool isValid(const Binding &binding) {
  auto isInput = [&](uint32_t input) { return input < binding.numInputs; };
  auto all = [](const auto &list, auto holds) {
    return std::all_of(list.begin(), list.end(), holds);
  };
  return all(binding.parameters, isInput) &&
         (!binding.parameters.empty() || all(binding.sources, isInput)) &&
         all(binding.extents, [&](const Binding::Extent &extent) {
           return isInput(extent.input) && extent.width > 0;
         });
}

static void
bindFunction(std::string_view text, int32_t deviceIndex,
             const Launcher &launcher, size_t numInputs,
             std::vector<uint32_t> sources, std::vector<uint32_t> parameters,
             const std::vector<std::pair<uint32_t, int64_t>> &widths) {
  if (sources.size() != static_cast<size_t>(launcher.numInputs) ||
      widths.size() != launcher.symbols.size())
    return; // left to Python
  auto binding =
      std::make_unique<Binding>(launcher, deviceIndex, numInputs,
                                std::move(sources), std::move(parameters));
  for (auto [input, width] : widths)
    binding->extents.push_back({binding->sources.at(input), width});
  if (!isValid(*binding))
    return;
  if (widths.empty())
    check(Frame(launcher).workspaceBytes(launcher, binding->staticBytes));
  OpTable::add(OpTable::get().function(text), std::move(binding));
}

static void addPrepared(std::string_view text, int32_t deviceIndex,
                        const std::vector<uintptr_t> &identities,
                        const PreparedHandle &handle) {
  Binding *binding = OpTable::get().function(text).find(deviceIndex);
  if (!binding)
    return; // left to Python
  for (uint32_t source : binding->sources)
    if (source >= binding->numInputs + handle.prepared->pointers.size())
      return;
  PreparedTable::Key key;
  for (uintptr_t identity : identities)
    key.push_back(reinterpret_cast<const void *>(identity));
  binding->prepared.add(std::move(key), handle.prepared);
}

static std::string textOf(int64_t number) {
  if (const OpFunction *function = OpTable::get().function(number))
    return function->text;
  raise(TENON_NOT_FOUND,
        ("the op has no function " + std::to_string(number)).c_str());
}

void tenon::python::bindOp(nb::module_ &module) {
  module.def("implement_op", implementOp, "key"_a,
             "Registers the op's kernel for a dispatch key of PyTorch's; False "
             "where this PyTorch cannot have it.");
  module.def("bind_op", bindFunction, "text"_a, "device_index"_a, "launcher"_a,
             "num_inputs"_a, "sources"_a, "parameters"_a, "widths"_a,
             "Has the kernel run a function on a device: which input of the op "
             "each of the launcher is, and behind these, which tensor that was "
             "prepared; of which inputs something is prepared; and for each "
             "symbol an input of the launcher and what its number of elements "
             "is divided by.");
  module.def("bind_prepared", addPrepared, "text"_a, "device_index"_a,
             "identities"_a, "prepared"_a,
             "Has the kernel take what was prepared of these parameters.");
  module.def("op_text", textOf, "number"_a,
             "The function that handed_over knows by a number.");
  module.def("keep_op_error", keepOpError, "error"_a,
             "Leaves an exception to the kernel that has called handed_over; "
             "False if none has.");
}
