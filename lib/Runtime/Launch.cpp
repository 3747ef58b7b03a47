//===- Launch.cpp - Launching a kernel ------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"

#include <cinttypes>

using namespace tenon::runtime;

namespace {

struct LaunchShape {
  int64_t grid[3], block[3];
  int64_t sharedBytes;
};

} // namespace

/// The driver takes 32 bits, so too large an extent would be cut, not refused.
static bool fits(const LaunchShape &shape) {
  const int64_t limits[3] = {INT32_MAX, 65535, 65535};
  bool result = shape.sharedBytes >= 0 && shape.sharedBytes <= INT32_MAX;
  for (int i = 0; i < 3; ++i)
    result = result && shape.grid[i] >= 0 && shape.grid[i] <= limits[i] &&
             shape.block[i] > 0 && shape.block[i] <= 1024;
  return result;
}

static std::string shapeText(const LaunchShape &shape) {
  char text[256];
  snprintf(text, sizeof(text),
           "grid (%" PRId64 ", %" PRId64 ", %" PRId64 "), block (%" PRId64
           ", %" PRId64 ", %" PRId64 "), %" PRId64
           " bytes of dynamic shared memory",
           shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
           shape.block[1], shape.block[2], shape.sharedBytes);
  return text;
}

static TenonStatus failLaunch(const TenonCall &call, int32_t index,
                              const LaunchShape &shape, CUresult result) {
  CudaErrorText error(call.device->driver, result);
  return fail(
      TENON_DEVICE_ERROR,
      "%s: kernel '%s' cannot be launched on GPU %d with %s: %s (%s)",
      call.function.name.c_str(), call.device->manifest.kernels[index].c_str(),
      call.device->ordinal, shapeText(shape).c_str(), error.name, error.text);
}

static TenonStatus launch(TenonCall &call, int32_t index,
                          const LaunchShape &shape, void **arguments) {
  DeviceState &device = *call.device;
  if (index < 0 || static_cast<size_t>(index) >= device.kernels.size())
    return fail(TENON_NOT_FOUND,
                "%s: model '%s' has no kernel number %d, only %zu; compile it "
                "again",
                call.function.name.c_str(), device.manifest.name.c_str(), index,
                device.kernels.size());
  if (!fits(shape))
    return fail(TENON_INVALID_ARGUMENT,
                "%s: kernel '%s' is asked for with %s, beyond CUDA's limits; "
                "the batch is too large for it",
                call.function.name.c_str(),
                device.manifest.kernels[index].c_str(),
                shapeText(shape).c_str());
  const int64_t *grid = shape.grid, *block = shape.block;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
    return TENON_OK;
  Kernel &kernel = device.kernels[index];
  auto bytes = static_cast<int32_t>(shape.sharedBytes);
  CUresult result = CUDA_SUCCESS;
  if (bytes > kernel.dynamicSharedLimit.load(std::memory_order_relaxed))
    result = device.raiseSharedLimit(kernel, bytes);
  if (!result)
    result = device.driver.cuLaunchKernel(
        kernel.function, static_cast<unsigned>(grid[0]),
        static_cast<unsigned>(grid[1]), static_cast<unsigned>(grid[2]),
        static_cast<unsigned>(block[0]), static_cast<unsigned>(block[1]),
        static_cast<unsigned>(block[2]), static_cast<unsigned>(bytes),
        call.stream, arguments, nullptr);
  return result ? failLaunch(call, index, shape, result) : TENON_OK;
}

void tenonLaunchKernel(TenonCall *call, int32_t kernel, int64_t gridX,
                       int64_t gridY, int64_t gridZ, int64_t blockX,
                       int64_t blockY, int64_t blockZ,
                       int64_t dynamicSharedBytes, void **arguments) {
  inCall(call, "a kernel launch", [&] {
    return launch(
        *call, kernel,
        {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, dynamicSharedBytes},
        arguments);
  });
}
