//===- Launch.cpp - Launching a kernel ------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"

#include <algorithm>
#include <cinttypes>
#include <random>

using namespace tenon::runtime;

LaunchConfig::LaunchConfig(const LaunchShape &shape, CUstream stream)
    : CUlaunchConfig() {
  gridDimX = static_cast<unsigned>(shape.grid[0]);
  gridDimY = static_cast<unsigned>(shape.grid[1]);
  gridDimZ = static_cast<unsigned>(shape.grid[2]);
  blockDimX = static_cast<unsigned>(shape.block[0]);
  blockDimY = static_cast<unsigned>(shape.block[1]);
  blockDimZ = static_cast<unsigned>(shape.block[2]);
  sharedMemBytes = static_cast<unsigned>(shape.sharedBytes);
  hStream = stream;
  attrs = storage;
  if (shape.clusterBlocks > 1) {
    CUlaunchAttribute &attribute = storage[numAttrs++] = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {static_cast<unsigned>(shape.clusterBlocks), 1,
                                  1};
  }
  if (shape.minBlocks) {
    // Not together with an early start.
    CUlaunchAttribute &attribute = storage[numAttrs++] = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
  } else if (shape.waitsItself) {
    CUlaunchAttribute &attribute = storage[numAttrs++] = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
}

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
  if (shape.clusterBlocks == 1)
    return text;
  return std::string(text) + ", clusters of " +
         std::to_string(shape.clusterBlocks);
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

static TenonStatus checkLaunch(const TenonCall &call, int32_t index,
                               const LaunchShape &shape) {
  const DeviceState &device = *call.device;
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
  return TENON_OK;
}

static CUresult allowShared(DeviceState &device, Kernel &kernel,
                            const LaunchShape &shape) {
  auto bytes = static_cast<int32_t>(shape.sharedBytes);
  if (bytes <= kernel.dynamicSharedLimit.load(std::memory_order_relaxed))
    return CUDA_SUCCESS;
  return device.raiseSharedLimit(kernel, bytes);
}

static CUresult enqueue(const TenonCall &call, const Kernel &kernel,
                        const LaunchShape &shape, void **arguments) {
  const Driver &driver = call.device->driver;
  LaunchConfig config(shape, call.stream);
  if (config.numAttrs)
    return driver.cuLaunchKernelEx(&config, kernel.function, arguments,
                                   nullptr);
  return driver.cuLaunchKernel(
      kernel.function, config.gridDimX, config.gridDimY, config.gridDimZ,
      config.blockDimX, config.blockDimY, config.blockDimZ,
      config.sharedMemBytes, config.hStream, arguments, nullptr);
}

static TenonStatus launch(TenonCall &call, int32_t index,
                          const LaunchShape &shape, void **arguments) {
  if (TenonStatus status = checkLaunch(call, index, shape))
    return status;
  if (shape.grid[0] == 0 || shape.grid[1] == 0 || shape.grid[2] == 0)
    return TENON_OK;
  Kernel &kernel = call.device->kernels[index];
  CUresult result = allowShared(*call.device, kernel, shape);
  if (!result)
    result = enqueue(call, kernel, shape, arguments);
  return result ? failLaunch(call, index, shape, result) : TENON_OK;
}

//===----------------------------------------------------------------------===//
// Persistent launches
//===----------------------------------------------------------------------===//

/// Numbers that do not repeat in a process: splitmix64 of a counter, which maps
/// 64 bits one to one. It starts at random, since a workspace can hold what an
/// earlier process left.
static int64_t nextToken() {
  static std::atomic<uint64_t> counter{[] {
    std::random_device random;
    return static_cast<uint64_t>(random()) << 32 | random();
  }()};
  constexpr uint32_t kMaxTurns = 1 << 24;
  uint64_t token;
  do {
    token = counter.fetch_add(1, std::memory_order_relaxed);
    token = (token ^ token >> 30) * 0xbf58476d1ce4e5b9;
    token = (token ^ token >> 27) * 0x94d049bb133111eb;
    token ^= token >> 31;
    // A turn's number is added to each half of one: that must not give 0, which
    // is what a kernel leaves of its marks.
  } while (static_cast<uint32_t>(token) == 0 ||
           static_cast<uint32_t>(token) > UINT32_MAX - kMaxTurns);
  return static_cast<int64_t>(token);
}

/// Such as code for sm_80 on sm_86, which has less shared memory.
static TenonStatus failNoRoom(const TenonCall &call, int32_t index,
                              const LaunchShape &shape) {
  const DeviceState &device = *call.device;
  char group[64] = "no multiprocessor has room for";
  if (shape.clusterBlocks > 1)
    snprintf(group, sizeof(group), "it has no room for a cluster of %d times",
             shape.clusterBlocks);
  return fail(TENON_UNSUPPORTED,
              "%s: kernel '%s' does not fit GPU %d: %s a block of %" PRId64
              " threads with %" PRId64
              " bytes of dynamic shared memory (%d at most); compile the model "
              "for it with tenon-compile --target=%s",
              call.function.name.c_str(),
              device.manifest.kernels[index].c_str(), device.ordinal, group,
              shape.block[0], shape.sharedBytes,
              device.maxDynamicShared(device.kernels[index]),
              device.architecture(/*withVariant=*/true).c_str());
}

/// Blocks that wait for each other would wait forever.
static TenonStatus failTooFew(const TenonCall &call, int32_t index,
                              const LaunchShape &shape, int64_t resident) {
  const DeviceState &device = *call.device;
  return fail(TENON_UNSUPPORTED,
              "%s: kernel '%s' needs %d thread blocks on GPU %d together, as "
              "many as reduce the same columns or rows, but only %" PRId64
              " fit; compile the model with tenon-compile --reduction=separate",
              call.function.name.c_str(),
              device.manifest.kernels[index].c_str(), shape.minBlocks,
              device.ordinal, resident);
}

/// The blocks that have work, `maxBlocks` at most, in whole clusters.
static int64_t largestGrid(int64_t work, const TenonPersistentKernel &kernel) {
  int64_t cluster = kernel.clusterBlocks;
  int64_t blocks =
      std::min(work, kernel.maxBlocks - kernel.maxBlocks % cluster);
  int64_t rest = blocks % cluster;
  return rest > 0 ? blocks + cluster - rest : blocks;
}

/// How many blocks of the kernel the GPU runs at once; 0 where none fits.
static CUresult countResident(const TenonCall &call, int32_t index,
                              const LaunchShape &shape, int64_t &resident) {
  DeviceState &device = *call.device;
  Kernel &kernel = device.kernels[index];
  resident = 0;
  CUresult result = allowShared(device, kernel, shape);
  if (result == CUDA_ERROR_INVALID_VALUE)
    return CUDA_SUCCESS;
  return result ? result : device.residentBlocks(kernel, shape, resident);
}

/// `shape` is that of the largest grid; what is resident bounds it.
static TenonStatus launchPersistent(TenonCall &call, int32_t index,
                                    LaunchShape shape, void **arguments,
                                    int64_t *token) {
  if (TenonStatus status = checkLaunch(call, index, shape))
    return status;
  if (shape.grid[0] == 0)
    return TENON_OK;
  int64_t resident;
  CUresult result = countResident(call, index, shape, resident);
  if (result)
    return failLaunch(call, index, shape, result);
  if (resident == 0)
    return failNoRoom(call, index, shape);
  shape.grid[0] = std::min(shape.grid[0], resident);
  if (shape.grid[0] < shape.minBlocks)
    return failTooFew(call, index, shape, resident);
  if (token)
    *token = nextToken();
  result = enqueue(call, call.device->kernels[index], shape, arguments);
  return result ? failLaunch(call, index, shape, result) : TENON_OK;
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

void tenonLaunchKernel(TenonCall *call, int32_t kernel, int64_t gridX,
                       int64_t gridY, int64_t gridZ, int64_t blockX,
                       int64_t blockY, int64_t blockZ,
                       int64_t dynamicSharedBytes, void **arguments,
                       int32_t waitsItself) {
  inCall(call, "a kernel launch", [&] {
    return launch(*call, kernel,
                  {{gridX, gridY, gridZ},
                   {blockX, blockY, blockZ},
                   dynamicSharedBytes,
                   /*clusterBlocks=*/1,
                   waitsItself != 0},
                  arguments);
  });
}

void tenonLaunchPersistent(TenonCall *call, const TenonPersistentKernel *kernel,
                           int64_t work, int64_t blockX,
                           int64_t dynamicSharedBytes, void **arguments,
                           int64_t *token) {
  inCall(call, "a kernel launch", [&] {
    return launchPersistent(*call, kernel->kernel,
                            {{largestGrid(work, *kernel), 1, 1},
                             {blockX, 1, 1},
                             dynamicSharedBytes,
                             kernel->clusterBlocks,
                             kernel->waitsItself != 0,
                             kernel->minBlocks},
                            arguments, token);
  });
}

int64_t tenonResidentBlocks(TenonCall *call,
                            const TenonPersistentKernel *kernel, int64_t blockX,
                            int64_t dynamicSharedBytes) {
  int64_t resident = 0;
  inCall(call, "the blocks that a GPU has room for", [&] {
    LaunchShape shape{
        {1, 1, 1}, {blockX, 1, 1}, dynamicSharedBytes, kernel->clusterBlocks};
    if (TenonStatus status = checkLaunch(*call, kernel->kernel, shape))
      return status;
    CUresult result = countResident(*call, kernel->kernel, shape, resident);
    return result ? failLaunch(*call, kernel->kernel, shape, result) : TENON_OK;
  });
  return std::min(resident, kernel->maxBlocks);
}
