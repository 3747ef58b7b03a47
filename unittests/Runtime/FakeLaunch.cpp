//===- FakeLaunch.cpp - Launches on the fake GPU --------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fakes.h"

#include <algorithm>
#include <cstring>

/// Of a kernel that one multiprocessor has room for.
static int countBlocks(CUfunction function, int threads, size_t sharedBytes) {
  auto *known = reinterpret_cast<fake::Function *>(function);
  int bytes = static_cast<int>(sharedBytes);
  int blocks = fake::state().threads / threads;
  if (bytes > known->dynamicSharedLimit)
    return 0;
  return bytes ? std::min(blocks, fake::kSharedBytes / bytes) : blocks;
}

/// 0 without the attribute.
static unsigned clusterOf(const CUlaunchConfig &config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      return config.attrs[i].value.clusterDim.x *
             config.attrs[i].value.clusterDim.y *
             config.attrs[i].value.clusterDim.z;
  return 0;
}

static bool waitsItself(const CUlaunchConfig &config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id ==
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      return config.attrs[i].value.programmaticStreamSerializationAllowed == 1;
  return false;
}

/// Both ways to launch.
static bool isCooperative(const CUlaunchConfig &config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      return config.attrs[i].value.cooperative == 1;
  return false;
}

static CUresult record(CUfunction function, const CUlaunchConfig &config,
                       void **arguments) {
  auto *known = reinterpret_cast<fake::Function *>(function);
  std::lock_guard<std::mutex> lock(fake::state().mutex);
  if (fake::state().launchResult)
    return fake::state().launchResult;
  if (reinterpret_cast<CUcontext>(known->context) != fake::currentContext())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (static_cast<int>(config.sharedMemBytes) > known->dynamicSharedLimit)
    return CUDA_ERROR_INVALID_VALUE;
  if (!config.gridDimX || !config.gridDimY || !config.gridDimZ)
    return CUDA_ERROR_INVALID_VALUE;
  unsigned cluster = clusterOf(config);
  if (cluster && config.gridDimX % cluster)
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  // The driver copies the values too: the caller's memory is gone afterwards.
  void *firstArgument =
      arguments ? *static_cast<void **>(arguments[0]) : nullptr;
  if (fake::state().numLaunches < fake::kMaxRecords)
    fake::state().launches[fake::state().numLaunches++] = {
        known,
        {config.gridDimX, config.gridDimY, config.gridDimZ},
        {config.blockDimX, config.blockDimY, config.blockDimZ},
        config.sharedMemBytes,
        config.hStream,
        firstArgument,
        cluster,
        waitsItself(config),
        isCooperative(config)};
  return CUDA_SUCCESS;
}

extern "C" {

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                     CUfunction function,
                                                     int threads,
                                                     size_t sharedBytes) {
  std::lock_guard<std::mutex> lock(fake::state().mutex);
  ++fake::state().occupancyQueries;
  *blocks = countBlocks(function, threads, sharedBytes);
  return fake::state().occupancyResult;
}

CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction function,
                                      const CUlaunchConfig *config) {
  std::lock_guard<std::mutex> lock(fake::state().mutex);
  ++fake::state().occupancyQueries;
  unsigned cluster = clusterOf(*config);
  if (config->gridDimX % cluster)
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  int blocks = countBlocks(function, config->blockDimX, config->sharedMemBytes);
  *clusters = blocks * fake::state().processorsOfGroup / cluster *
              (fake::state().multiprocessors / fake::state().processorsOfGroup);
  return fake::state().occupancyResult;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, CUstream stream,
                        void **arguments, void **) {
  return record(function,
                {gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes,
                 stream, nullptr, 0},
                arguments);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                          void **arguments, void **) {
  ++fake::state().extendedLaunches;
  return record(function, *config, arguments);
}

CUresult cuTensorMapEncodeTiled(
    CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *base,
    const cuuint64_t *extents, const cuuint64_t *strides, const cuuint32_t *box,
    const cuuint32_t *steps, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill) {
  std::lock_guard<std::mutex> lock(fake::state().mutex);
  if (fake::state().encodeResult)
    return fake::state().encodeResult;
  ++fake::state().numMaps;
  fake::TensorMap made = {reinterpret_cast<uint64_t>(base),
                          {extents[0], extents[1]},
                          strides[0],
                          {box[0], box[1]},
                          {steps[0], steps[1]},
                          static_cast<uint32_t>(type),
                          rank,
                          static_cast<uint32_t>(interleave),
                          static_cast<uint32_t>(swizzle),
                          static_cast<uint32_t>(promotion),
                          static_cast<uint32_t>(fill)};
  memcpy(map, &made, sizeof(made));
  return CUDA_SUCCESS;
}

} // extern "C"
