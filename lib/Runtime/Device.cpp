//===- Device.cpp - A model on one GPU ------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "Error.h"

using namespace tenon::runtime;

TenonStatus DeviceState::failCuda(CUresult result, const char *what) const {
  CudaErrorText error(driver, result);
  const char *remedy =
      result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
              result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
          ? "; call tenonModelLoad for the device before a graph capture"
          : "";
  return fail(TENON_DEVICE_ERROR, "GPU %d: %s failed with %s (%s)%s", ordinal,
              what, error.name, error.text, remedy);
}

std::string DeviceState::architecture(bool withVariant) const {
  int major = 0, minor = 0;
  driver.cuDeviceGetAttribute(
      &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver.cuDeviceGetAttribute(
      &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  // From Hopper on, the fast instructions are in the "a" variants.
  const char *suffix = withVariant && major >= 9 ? "a" : "";
  return "sm_" + std::to_string(major) + std::to_string(minor) + suffix;
}

TenonStatus DeviceState::failNoBinary(CUresult result) const {
  char gpu[256] = "unknown";
  driver.cuDeviceGetName(gpu, sizeof(gpu), device);
  CudaErrorText error(driver, result);
  return fail(TENON_UNSUPPORTED,
              "model '%s' has no code for GPU %d (%s, %s): it was compiled for "
              "%s; compile it with tenon-compile --target=%s (%s)",
              manifest.name.c_str(), ordinal, gpu,
              architecture(/*withVariant=*/false).c_str(),
              cudaTargetsText(manifest).c_str(),
              architecture(/*withVariant=*/true).c_str(), error.name);
}

TenonStatus DeviceState::retain() {
  int count = 0;
  if (CUresult result = driver.cuDeviceGetCount(&count))
    return failCuda(result, "cuDeviceGetCount");
  if (ordinal < 0 || ordinal >= count)
    return fail(TENON_NOT_FOUND,
                "no GPU %d: this process sees %d (numbered from 0); check "
                "CUDA_VISIBLE_DEVICES",
                ordinal, count);
  if (CUresult result = driver.cuDeviceGet(&device, ordinal))
    return failCuda(result, "cuDeviceGet");
  if (CUresult result = driver.cuDeviceGetAttribute(
          &multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device))
    return failCuda(result, "cuDeviceGetAttribute");
  if (CUresult result = driver.cuDevicePrimaryCtxRetain(&context, device)) {
    context = nullptr;
    return failCuda(result, "cuDevicePrimaryCtxRetain");
  }
  return TENON_OK;
}

TenonStatus DeviceState::loadKernel(size_t index) {
  Kernel &kernel = kernels[index];
  const char *name = manifest.kernels[index].c_str();
  CUresult result = driver.cuModuleGetFunction(&kernel.function, module, name);
  if (result == CUDA_ERROR_NOT_FOUND)
    return fail(TENON_NOT_FOUND,
                "model '%s': its GPU code lacks kernel '%s', which its "
                "manifest lists; compile the model again",
                manifest.name.c_str(), name);
  if (result)
    return failCuda(result, "cuModuleGetFunction");
  // The limit starts at 48 KB less the kernel's static shared memory.
  int limit = 0;
  if (driver.cuFuncGetAttribute(&limit,
                                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                kernel.function) == CUDA_SUCCESS)
    kernel.dynamicSharedLimit = limit;
  return TENON_OK;
}

TenonStatus DeviceState::loadModule(const TenonModelImage &image) {
  if (!image.fatbin)
    return TENON_OK; // library calls only
  CUresult result = driver.cuModuleLoadData(&module, image.fatbin);
  if (result) {
    module = nullptr;
    switch (result) {
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return failNoBinary(result);
    default:
      return failCuda(result, "loading the model's GPU code");
    }
  }
  kernels = std::vector<Kernel>(manifest.kernels.size());
  for (size_t index = 0; index < kernels.size(); ++index)
    if (TenonStatus status = loadKernel(index))
      return status;
  return TENON_OK;
}

TenonStatus DeviceState::createBlasLt() {
  if (TenonStatus status = getCublasLt(blasLt))
    return status;
  cublasLtHandle_t created = nullptr;
  if (cublasStatus_t result = blasLt->cublasLtCreate(&created))
    return fail(TENON_DEVICE_ERROR, "GPU %d: cublasLtCreate failed with %s",
                ordinal, blasLt->cublasLtGetStatusName(result));
  handle.store(created, std::memory_order_release);
  return TENON_OK;
}

TenonStatus DeviceState::blasLtHandle(cublasLtHandle_t &result) {
  result = handle.load(std::memory_order_acquire);
  if (result)
    return TENON_OK;
  std::lock_guard<std::mutex> lock(mutex);
  if (!handle.load(std::memory_order_relaxed))
    if (TenonStatus status = createBlasLt())
      return status;
  result = handle.load(std::memory_order_relaxed);
  return TENON_OK;
}

CUresult DeviceState::raiseSharedLimit(Kernel &kernel, int32_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (bytes <= kernel.dynamicSharedLimit)
    return CUDA_SUCCESS;
  CUresult result = driver.cuFuncSetAttribute(
      kernel.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
  if (result == CUDA_SUCCESS)
    kernel.dynamicSharedLimit = bytes;
  return result;
}

CUresult DeviceState::askResidentBlocks(const Kernel &kernel,
                                        const LaunchShape &shape,
                                        int64_t &blocks) const {
  int count = 0;
  if (shape.clusterBlocks == 1) {
    CUresult result = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &count, kernel.function, static_cast<int>(shape.block[0]),
        static_cast<size_t>(shape.sharedBytes));
    blocks = static_cast<int64_t>(count) * multiprocessors;
    return result;
  }
  LaunchShape oneCluster = shape;
  oneCluster.grid[0] = shape.clusterBlocks;
  LaunchConfig config(oneCluster, /*stream=*/nullptr);
  CUresult result =
      driver.cuOccupancyMaxActiveClusters(&count, kernel.function, &config);
  if (result == CUDA_ERROR_INVALID_CLUSTER_SIZE) { // none on this GPU
    count = 0;
    result = CUDA_SUCCESS;
  }
  blocks = static_cast<int64_t>(count) * shape.clusterBlocks;
  return result;
}

CUresult DeviceState::residentBlocks(Kernel &kernel, const LaunchShape &shape,
                                     int64_t &blocks) {
  // A block's threads are 1024 at most, a cluster's blocks 8.
  uint64_t question = static_cast<uint64_t>(shape.sharedBytes) << 16 |
                      static_cast<uint64_t>(shape.clusterBlocks) << 12 |
                      static_cast<uint64_t>(shape.block[0]);
  uint64_t known = kernel.occupancy.load(std::memory_order_relaxed);
  if (known >> 16 != question) {
    int64_t answer = 0;
    if (CUresult result = askResidentBlocks(kernel, shape, answer))
      return result;
    known = question << 16 | static_cast<uint64_t>(answer);
    kernel.occupancy.store(known, std::memory_order_relaxed);
  }
  blocks = static_cast<int64_t>(known & 0xffff);
  return CUDA_SUCCESS;
}

int32_t DeviceState::maxDynamicShared(const Kernel &kernel) const {
  int limit = 0, used = 0;
  driver.cuDeviceGetAttribute(
      &limit, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
  driver.cuFuncGetAttribute(&used, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                            kernel.function);
  return limit - used;
}

TenonStatus DeviceState::create(const Manifest &manifest,
                                const TenonModelImage &image, int ordinal,
                                std::unique_ptr<DeviceState> &state) {
  const Driver *driver = nullptr;
  if (TenonStatus status = getDriver(driver))
    return status;
  std::unique_ptr<DeviceState> made(
      new DeviceState(*driver, manifest, ordinal));
  if (TenonStatus status = made->retain())
    return status;
  ContextScope scope(*driver, made->context);
  if (scope.result)
    return made->failCuda(scope.result, "making the primary context current");
  if (TenonStatus status = made->loadModule(image))
    return status;
  // Now rather than in the first call, which may be inside a graph capture. A
  // missing library is reported by the call that needs it.
  cublasLtHandle_t handle;
  (void)made->blasLtHandle(handle);
  if (TenonStatus status = made->packed.load(manifest, image, made.get()))
    return status;
  state = std::move(made);
  return TENON_OK;
}

DeviceState::~DeviceState() {
  if (!context)
    return;
  {
    ContextScope scope(driver, context);
    packed.unload();
    if (cublasLtHandle_t created = handle.load())
      blasLt->cublasLtDestroy(created);
    if (module)
      driver.cuModuleUnload(module);
  }
  driver.cuDevicePrimaryCtxRelease(device);
}
