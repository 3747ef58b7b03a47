//===- Call.cpp - Running a function --------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The hot path: check, describe the tensors on the stack, enter the generated
// code. It allocates nothing and asks the driver only which context is current.
//
//===----------------------------------------------------------------------===//

#include "Call.h"

#include "Check.h"
#include "Descriptors.h"
#include "Model.h"

using namespace tenon::runtime;

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Says why `function` cannot run on that kind of device.
static TenonStatus failNoCode(const TenonFunction &function, bool isCpu) {
  const Manifest &manifest = function.model->manifest;
  const char *name = function.info->name.c_str();
  if (isCpu)
    return fail(TENON_UNSUPPORTED,
                "%s: model '%s' has no CPU code: it was compiled for %s; "
                "compile it again with tenon-compile, or call with kDLCUDA "
                "tensors",
                name, manifest.name.c_str(), cudaTargetsText(manifest).c_str());
  return fail(TENON_UNSUPPORTED,
              "%s: model '%s' has no GPU code: it was compiled for the CPU; "
              "compile it with tenon-compile --target=<the GPU's sm_XX>, or "
              "call with kDLCPU tensors",
              name, manifest.name.c_str());
}

static TenonStatus checkCode(const TenonFunction &function, bool isCpu) {
  const TenonFunctionImage &image = *function.image;
  if (isCpu ? !image.cpuEntry : !image.cudaEntry)
    return failNoCode(function, isCpu);
  const std::string &problem = function.model->cpuProblem;
  if (isCpu && !problem.empty())
    return fail(TENON_UNSUPPORTED, "%s: %s", function.info->name.c_str(),
                problem.c_str());
  return TENON_OK;
}

static int64_t workspaceBytes(const TenonFunctionImage &image, bool isCpu,
                              Descriptors &descriptors) {
  TenonWorkspaceEntry entry = isCpu ? image.cpuWorkspace : image.cudaWorkspace;
  return entry ? entry(descriptors.pointers) : 0;
}

static TenonStatus runCuda(const TenonFunction &function, int ordinal,
                           Descriptors &descriptors, void *workspace,
                           void *stream) {
  DeviceState *device;
  if (TenonStatus status = function.model->device(ordinal, device))
    return status;
  ContextScope scope(device->driver, device->context);
  if (scope.result) {
    CudaErrorText error(device->driver, scope.result);
    return fail(TENON_DEVICE_ERROR,
                "%s: GPU %d's primary context cannot be made current: %s (%s)",
                function.info->name.c_str(), ordinal, error.name, error.text);
  }
  TenonCall call{*function.info, device, static_cast<CUstream>(stream)};
  function.image->cudaEntry(&call, descriptors.pointers, workspace);
  return call.status;
}

/// What the code takes before its outputs: the caller's inputs, and between
/// them what the model brings itself.
static void describeInputs(const TenonFunction &function,
                           const CallTensors &tensors,
                           const PackedTensors *packed,
                           Descriptors &descriptors) {
  const DLTensor *const *next = tensors.inputs;
  const FunctionInfo &info = *function.info;
  if (info.packed.empty())
    for (int32_t i = 0; i < tensors.numInputs; ++i)
      descriptors.add(**next++);
  for (int32_t number : info.packed) {
    if (number < 0)
      descriptors.add(**next++);
    else
      descriptors.add(function.model->manifest.packed[number].shape,
                      packed ? packed->data(number) : nullptr);
  }
}

static TenonStatus run(const TenonFunction &function,
                       const CallTensors &tensors, void *workspace,
                       uint64_t bytes, void *stream) {
  DLDevice device;
  if (TenonStatus status =
          checkTensors(*function.info, tensors, CheckScope::All, device))
    return status;
  bool isCpu = device.device_type == kDLCPU;
  if (TenonStatus status = checkCode(function, isCpu))
    return status;
  const PackedTensors *packed = nullptr;
  if (!function.info->packed.empty())
    if (TenonStatus status = function.model->packed(device, packed))
      return status;
  Descriptors descriptors(*function.info);
  describeInputs(function, tensors, packed, descriptors);
  for (int32_t i = 0; i < tensors.numOutputs; ++i)
    descriptors.add(*tensors.outputs[i]);
  int64_t needed = workspaceBytes(*function.image, isCpu, descriptors);
  if (TenonStatus status =
          checkWorkspace(*function.info, needed, workspace, bytes))
    return status;
  if (!isCpu)
    return runCuda(function, device.device_id, descriptors, workspace, stream);
  TenonCall call{*function.info, nullptr, nullptr};
  function.image->cpuEntry(&call, descriptors.pointers, workspace);
  return call.status;
}

TenonStatus tenonFunctionRun(TenonFunction *function,
                             const DLTensor *const *inputs, int32_t numInputs,
                             DLTensor *const *outputs, int32_t numOutputs,
                             void *workspace, size_t workspaceBytes,
                             void *stream) {
  return guarded([&] {
    if (!function)
      return fail(TENON_INVALID_ARGUMENT, "tenonFunctionRun: null function");
    CallTensors tensors{inputs, numInputs, outputs, numOutputs};
    return function->division
               ? runDivided(*function, tensors, workspace, workspaceBytes,
                            stream)
               : run(*function, tensors, workspace, workspaceBytes, stream);
  });
}

TenonStatus tenonFunctionWorkspaceSize(TenonFunction *function,
                                       const DLTensor *const *inputs,
                                       int32_t numInputs, size_t *bytes) {
  return guarded([&] {
    if (!function || !bytes)
      return fail(TENON_INVALID_ARGUMENT, "tenonFunctionWorkspaceSize: null %s",
                  function ? "bytes" : "function");
    *bytes = 0;
    DLDevice device;
    if (TenonStatus status =
            checkTensors(*function->info, {inputs, numInputs, nullptr, 0},
                         CheckScope::Sizes, device))
      return status;
    if (function->division)
      return dividedWorkspaceSize(*function, inputs, *bytes);
    bool isCpu = device.device_type == kDLCPU;
    if (TenonStatus status = checkCode(*function, isCpu))
      return status;
    Descriptors descriptors(*function->info);
    describeInputs(*function, {inputs, numInputs, nullptr, 0},
                   /*packed=*/nullptr, descriptors);
    int64_t needed = ::workspaceBytes(*function->image, isCpu, descriptors);
    *bytes = needed > 0 ? needed : 0;
    return TENON_OK;
  });
}
