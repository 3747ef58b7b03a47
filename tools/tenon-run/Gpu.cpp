//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU as a device, through the CUDA driver.
//
//===----------------------------------------------------------------------===//

#include "Gpu.h"

#include "Driver.h"
#include "Error.h"

using namespace tenon::run;

bool tenon::run::hasGpu() {
  try {
    return driver().count() > 0;
  } catch (const Error &) {
    return false;
  }
}

namespace {
class CudaGpu : public Gpu {
public:
  explicit CudaGpu(int ordinal);
  ~CudaGpu() override;

  DLDevice id() const override { return {kDLCUDA, ordinal}; }
  std::string name() const override;
  std::string architecture() const override;
  void *allocate(size_t bytes) override;
  void release(void *memory) override { cuda.cuMemFree(pointer(memory)); }
  void upload(void *target, const void *host, size_t bytes) override;
  void download(void *host, const void *source, size_t bytes) override;
  void poison(void *memory, size_t bytes) override;
  void *stream() override { return queue; }
  void synchronize() override {
    cuda.check(cuda.cuStreamSynchronize(queue), "waiting for the GPU");
  }
  double time(const std::function<void()> &work) override;

private:
  static CUdeviceptr pointer(const void *memory) {
    return reinterpret_cast<CUdeviceptr>(memory);
  }

  const Driver &cuda = driver();
  int ordinal;
  CUdevice device;
  CUcontext context = nullptr;
  CUstream queue = nullptr;
  CUevent start = nullptr, stop = nullptr;
};
} // namespace

CudaGpu::CudaGpu(int ordinal) : ordinal(ordinal) {
  int count = cuda.count();
  if (ordinal >= count)
    throw Error("no GPU " + std::to_string(ordinal) + ": this process sees " +
                std::to_string(count) +
                " (numbered from 0); check CUDA_VISIBLE_DEVICES, or run with "
                "--target=cpu");
  cuda.check(cuda.cuDeviceGet(&device, ordinal), "cuDeviceGet");
  cuda.check(cuda.cuDevicePrimaryCtxRetain(&context, device),
             "starting a context on the GPU");
  cuda.check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  cuda.check(cuda.cuStreamCreate(&queue, CU_STREAM_NON_BLOCKING),
             "making a stream");
  cuda.check(cuda.cuEventCreate(&start, CU_EVENT_DEFAULT), "making an event");
  cuda.check(cuda.cuEventCreate(&stop, CU_EVENT_DEFAULT), "making an event");
}

CudaGpu::~CudaGpu() {
  cuda.cuEventDestroy(start);
  cuda.cuEventDestroy(stop);
  cuda.cuStreamDestroy(queue);
  cuda.cuDevicePrimaryCtxRelease(device);
}

std::string CudaGpu::name() const {
  char text[256] = "unknown";
  cuda.cuDeviceGetName(text, sizeof(text), device);
  return "GPU " + std::to_string(ordinal) + " (" + text + ")";
}

std::string CudaGpu::architecture() const {
  int major = 0, minor = 0;
  cuda.cuDeviceGetAttribute(
      &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  cuda.cuDeviceGetAttribute(
      &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  // From Hopper on, the fast instructions are in the "a" variants.
  return "sm_" + std::to_string(major) + std::to_string(minor) +
         (major >= 9 ? "a" : "");
}

void *CudaGpu::allocate(size_t bytes) {
  CUdeviceptr memory = 0;
  CUresult result = cuda.cuMemAlloc(&memory, bytes ? bytes : 1);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    return nullptr;
  cuda.check(result, "allocating GPU memory");
  return reinterpret_cast<void *>(memory);
}

void CudaGpu::upload(void *target, const void *host, size_t bytes) {
  if (bytes)
    cuda.check(cuda.cuMemcpyHtoDAsync(pointer(target), host, bytes, queue),
               "copying to the GPU");
  synchronize();
}

void CudaGpu::download(void *host, const void *source, size_t bytes) {
  if (bytes)
    cuda.check(cuda.cuMemcpyDtoHAsync(host, pointer(source), bytes, queue),
               "copying from the GPU");
  synchronize();
}

void CudaGpu::poison(void *memory, size_t bytes) {
  if (bytes)
    cuda.check(cuda.cuMemsetD8Async(pointer(memory), 0xff, bytes, queue),
               "filling GPU memory");
}

double CudaGpu::time(const std::function<void()> &work) {
  cuda.check(cuda.cuEventRecord(start, queue), "recording an event");
  work();
  cuda.check(cuda.cuEventRecord(stop, queue), "recording an event");
  cuda.check(cuda.cuEventSynchronize(stop), "waiting for the GPU");
  float milliseconds = 0;
  cuda.check(cuda.cuEventElapsedTime(&milliseconds, start, stop),
             "reading the events' times");
  return milliseconds;
}

std::unique_ptr<Gpu> tenon::run::makeGpu(int ordinal) {
  return std::make_unique<CudaGpu>(ordinal);
}
