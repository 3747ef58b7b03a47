//===- RowsOutside.cpp - How often the slower path ran --------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of tenon.split count rows outside in a global of their module,
// which is here read when somebody asks.
//
//===----------------------------------------------------------------------===//

#include "Error.h"
#include "Model.h"

using namespace tenon::runtime;

static TenonStatus failRead(const DeviceState &device, CUresult result) {
  if (result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
      result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    return fail(TENON_DEVICE_ERROR,
                "GPU %d: rows outside cannot be counted during a graph "
                "capture, which would have to wait; count them after it",
                device.ordinal);
  return device.failCuda(result, "counting the rows outside");
}

TenonStatus DeviceState::countRowsOutside(uint64_t &count) const {
  count = 0;
  if (!module)
    return TENON_OK;
  ContextScope scope(driver, context);
  if (scope.result)
    return failCuda(scope.result, "making the primary context current");
  CUdeviceptr counter = 0;
  size_t bytes = 0;
  CUresult result =
      driver.cuModuleGetGlobal(&counter, &bytes, module, kTenonRowsOutside);
  if (result == CUDA_ERROR_NOT_FOUND)
    return TENON_OK; // nothing is split
  if (result)
    return failRead(*this, result);
  if (bytes != sizeof(count))
    return fail(TENON_UNSUPPORTED,
                "model '%s': its counter of rows outside has %zu bytes, not "
                "%zu; compile the model again",
                manifest.name.c_str(), bytes, sizeof(count));
  // The copy alone would wait for some streams only, as PyTorch's is not.
  result = driver.cuCtxSynchronize();
  if (!result)
    result = driver.cuMemcpyDtoH(&count, counter, sizeof(count));
  return result ? failRead(*this, result) : TENON_OK;
}

TenonStatus TenonModel::countRowsOutside(DLDevice device,
                                         uint64_t &count) const {
  count = 0;
  if (device.device_type == kDLCPU)
    return TENON_OK;
  if (device.device_type != kDLCUDA)
    return failDeviceType("counting the rows outside", device);
  if (device.device_id < 0 || device.device_id >= kMaxDevices)
    return TENON_OK; // nothing ever ran there
  const DeviceState *state =
      devices[device.device_id].load(std::memory_order_acquire);
  return state ? state->countRowsOutside(count) : TENON_OK;
}

TenonStatus tenonModelCountRowsOutside(TenonModel *model, DLDevice device,
                                       uint64_t *count) {
  return guarded([&] {
    if (!model || !count)
      return fail(TENON_INVALID_ARGUMENT, "tenonModelCountRowsOutside: null %s",
                  model ? "count" : "model");
    return model->countRowsOutside(device, *count);
  });
}
