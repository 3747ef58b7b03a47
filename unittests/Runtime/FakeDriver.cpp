//===- FakeDriver.cpp - A CUDA driver for tests ---------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fakes.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

static fake::State theState;

fake::State &fake::state() { return theState; }

void fake::reset() {
  State &s = theState;
  std::lock_guard<std::mutex> lock(s.mutex);
  s.deviceCount = 2;
  s.major = 9;
  s.minor = 0;
  s.initResult = s.loadResult = s.launchResult = CUDA_SUCCESS;
  s.globalResult = s.synchroniseResult = s.downloadResult = CUDA_SUCCESS;
  s.counterBytes = 0;
  s.missingKernel = "";
  s.staticShared = 0;
  s.multiprocessors = 4;
  s.processorsOfGroup = 4;
  s.threads = 2048;
  s.occupancyResult = s.encodeResult = CUDA_SUCCESS;
  s.occupancyQueries = s.extendedLaunches = 0;
  s.memoryBytes = 1 << 20;
  s.heuristicStatus = CUBLAS_STATUS_SUCCESS;
  s.heuristicCount = 1;
  s.numFunctions = s.numLaunches = s.numHeuristics = s.numMatmuls = s.numMaps =
      0;
  s.allocations = s.liveAllocations = s.synchronisations = s.attributeSets = 0;
  s.pushes = s.pops = s.moduleLoads = s.moduleUnloads = s.handles = 0;
  for (int i = 0; i < kMaxDevices; ++i) {
    s.retained[i] = 0;
    s.counters[i] = 0;
    s.contexts[i].device = i;
  }
}

static const bool isReset = (fake::reset(), true);
static thread_local fake::Context *stack[16];
static thread_local int depth = 0;

CUcontext fake::currentContext() {
  return reinterpret_cast<CUcontext>(depth ? stack[depth - 1] : nullptr);
}

extern "C" {

CUresult cuInit(unsigned) { return theState.initResult; }

CUresult cuGetErrorName(CUresult error, const char **text) {
  switch (error) {
  case CUDA_ERROR_NO_DEVICE:
    return *text = "CUDA_ERROR_NO_DEVICE", CUDA_SUCCESS;
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
    return *text = "CUDA_ERROR_NO_BINARY_FOR_GPU", CUDA_SUCCESS;
  case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    return *text = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuGetErrorString(CUresult, const char **text) {
  *text = "described by the fake";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  *count = theState.deviceCount;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  snprintf(name, length, "Fake GPU");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice) {
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return *value = theState.major, CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return *value = theState.minor, CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return *value = theState.multiprocessors, CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return *value = fake::kBlockSharedBytes, CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  ++theState.retained[device];
  *context = reinterpret_cast<CUcontext>(&theState.contexts[device]);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  --theState.retained[device];
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = fake::currentContext();
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
  stack[depth++] = reinterpret_cast<fake::Context *>(context);
  std::lock_guard<std::mutex> lock(theState.mutex);
  ++theState.pushes;
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *context) {
  *context = fake::currentContext();
  --depth;
  std::lock_guard<std::mutex> lock(theState.mutex);
  ++theState.pops;
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *) {
  if (theState.loadResult)
    return theState.loadResult;
  if (!fake::currentContext())
    return CUDA_ERROR_INVALID_CONTEXT;
  ++theState.moduleLoads;
  *module = reinterpret_cast<CUmodule>(fake::currentContext());
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule) {
  ++theState.moduleUnloads;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  if (!strcmp(name, theState.missingKernel))
    return CUDA_ERROR_NOT_FOUND;
  fake::Function &made = theState.functions[theState.numFunctions++];
  snprintf(made.name, sizeof(made.name), "%s", name);
  made.context = reinterpret_cast<fake::Context *>(module);
  made.dynamicSharedLimit = 48 * 1024 - theState.staticShared;
  *function = reinterpret_cast<CUfunction>(&made);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule module,
                           const char *name) {
  auto *context = reinterpret_cast<fake::Context *>(module);
  if (theState.globalResult)
    return theState.globalResult;
  if (strcmp(name, "tenon_rows_outside") || !theState.counterBytes)
    return CUDA_ERROR_NOT_FOUND;
  *address = reinterpret_cast<CUdeviceptr>(&theState.counters[context->device]);
  *bytes = theState.counterBytes;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                            CUfunction function) {
  auto *known = reinterpret_cast<fake::Function *>(function);
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
               ? known->dynamicSharedLimit
           : attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
               ? theState.staticShared
               : 0;
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                            int value) {
  auto *known = reinterpret_cast<fake::Function *>(function);
  ++theState.attributeSets;
  if (value > fake::kBlockSharedBytes - theState.staticShared)
    return CUDA_ERROR_INVALID_VALUE;
  known->dynamicSharedLimit = value;
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes,
                           CUstream) {
  memcpy(reinterpret_cast<void *>(target), reinterpret_cast<void *>(source),
         bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream) {
  for (size_t row = 0; row != copy->Height; ++row)
    memcpy(reinterpret_cast<char *>(copy->dstDevice) + row * copy->dstPitch,
           reinterpret_cast<char *>(copy->srcDevice) + row * copy->srcPitch,
           copy->WidthInBytes);
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, size_t bytes,
                         CUstream) {
  memset(reinterpret_cast<void *>(memory), value, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr target, const void *source, size_t bytes,
                           CUstream) {
  memcpy(reinterpret_cast<void *>(target), source, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH(void *target, CUdeviceptr source, size_t bytes) {
  if (theState.downloadResult)
    return theState.downloadResult;
  if (!fake::currentContext())
    return CUDA_ERROR_INVALID_CONTEXT;
  memcpy(target, reinterpret_cast<void *>(source), bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr memory) {
  --theState.liveAllocations;
  free(reinterpret_cast<void *>(memory));
  return CUDA_SUCCESS;
}

// What a call must not do.

CUresult cuMemAlloc(CUdeviceptr *memory, size_t bytes) {
  ++theState.allocations;
  if (bytes > theState.memoryBytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  ++theState.liveAllocations;
  *memory = reinterpret_cast<CUdeviceptr>(
      aligned_alloc(256, (bytes + 255) / 256 * 256));
  return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *, size_t, CUstream) {
  ++theState.allocations;
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuStreamSynchronize(CUstream) {
  ++theState.synchronisations;
  return theState.synchroniseResult;
}

CUresult cuCtxSynchronize() {
  ++theState.synchronisations;
  return fake::currentContext() ? theState.synchroniseResult
                                : CUDA_ERROR_INVALID_CONTEXT;
}

// What only tenon-run does. Streams run at once, and all takes a millisecond.

static int anything; // handles point to it

CUresult cuStreamCreate(CUstream *stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(&anything);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream) { return CUDA_SUCCESS; }
CUresult cuEventCreate(CUevent *event, unsigned) {
  *event = reinterpret_cast<CUevent>(&anything);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent) { return CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent, CUstream) { return CUDA_SUCCESS; }
CUresult cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }
#undef cuEventElapsedTime // the symbol that all drivers have
CUresult cuEventElapsedTime(float *milliseconds, CUevent, CUevent) {
  return *milliseconds = 1, CUDA_SUCCESS;
}

} // extern "C"
