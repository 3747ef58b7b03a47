//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a function runs.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "Error.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace tenon::run;

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

/// The driver; throws where there is none.
static const tenon::runtime::Driver &getDriver() {
  const tenon::runtime::Driver *driver = nullptr;
  try {
    tenon::runtime::getDriver(driver);
  } catch (const Error &error) {
    throw Error(std::string(error.what()) + "; --target=cpu needs none");
  }
  return *driver;
}

/// Throws what the driver says of a failure.
static void check(CUresult result, const char *what) {
  if (result == CUDA_SUCCESS)
    return;
  tenon::runtime::CudaErrorText error(getDriver(), result);
  throw Error(std::string(what) + " failed with " + error.name + " (" +
              error.text +
              "); check the GPU with nvidia-smi, or run with --target=cpu");
}

static int countGpus() {
  int count = 0;
  check(getDriver().cuDeviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

bool tenon::run::hasGpu() {
  try {
    return countGpus() > 0;
  } catch (const Error &) {
    return false;
  }
}

static CUdeviceptr pointer(const void *memory) {
  return reinterpret_cast<CUdeviceptr>(memory);
}

//===----------------------------------------------------------------------===//
// Device
//===----------------------------------------------------------------------===//

Device::Device(int ordinal) : cuda(&getDriver()), ordinal(ordinal) {
  if (int count = countGpus(); ordinal >= count)
    throw Error("no GPU " + std::to_string(ordinal) + ": this process sees " +
                std::to_string(count) +
                " (numbered from 0); check CUDA_VISIBLE_DEVICES, or run with "
                "--target=cpu");
  check(cuda->cuDeviceGet(&device, ordinal), "cuDeviceGet");
  check(cuda->cuDevicePrimaryCtxRetain(&context, device),
        "starting a context on the GPU");
  check(cuda->cuCtxPushCurrent(context), "cuCtxPushCurrent");
  check(cuda->cuStreamCreate(&queue, CU_STREAM_NON_BLOCKING),
        "making a stream");
  check(cuda->cuEventCreate(&start, CU_EVENT_DEFAULT), "making an event");
  check(cuda->cuEventCreate(&stop, CU_EVENT_DEFAULT), "making an event");
}

Device::~Device() {
  if (isCpu())
    return;
  cuda->cuEventDestroy(start);
  cuda->cuEventDestroy(stop);
  cuda->cuStreamDestroy(queue);
  cuda->cuDevicePrimaryCtxRelease(device);
}

std::string Device::name() const {
  if (isCpu())
    return "the CPU";
  char text[256] = "unknown";
  cuda->cuDeviceGetName(text, sizeof(text), device);
  return "GPU " + std::to_string(ordinal) + " (" + text + ")";
}

std::string Device::architecture() const {
  int major = 0, minor = 0;
  cuda->cuDeviceGetAttribute(
      &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  cuda->cuDeviceGetAttribute(
      &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  // From Hopper on, the fast instructions are in the "a" variants.
  return "sm_" + std::to_string(major) + std::to_string(minor) +
         (major >= 9 ? "a" : "");
}

std::shared_ptr<void> Device::make(size_t bytes, const std::string &what) {
  void *memory = nullptr;
  if (!isCpu()) {
    CUdeviceptr made = 0;
    CUresult result = cuda->cuMemAlloc(&made, bytes ? bytes : 1);
    if (result != CUDA_ERROR_OUT_OF_MEMORY)
      check(result, "allocating GPU memory");
    memory = reinterpret_cast<void *>(made);
    // Linux gives more than there is, and ends the program that writes to it.
  } else if (bytes / sysconf(_SC_PAGESIZE) < size_t(sysconf(_SC_PHYS_PAGES))) {
    memory = std::aligned_alloc(256, (bytes / 256 + 1) * 256);
  }
  if (!memory)
    throw Error("no memory for " + what + ": " + std::to_string(bytes) +
                " bytes on " + name() + "; give smaller extents");
  return {memory, [cuda = cuda](void *m) {
            cuda ? static_cast<void>(cuda->cuMemFree(pointer(m)))
                 : std::free(m);
          }};
}

void Device::upload(void *target, const void *host, size_t bytes) {
  if (isCpu())
    memcpy(target, host, bytes);
  else if (bytes)
    check(cuda->cuMemcpyHtoDAsync(pointer(target), host, bytes, queue),
          "copying to the GPU");
  synchronize();
}

void Device::download(void *host, const void *source, size_t bytes) {
  synchronize();
  if (isCpu())
    memcpy(host, source, bytes);
  else if (bytes)
    check(cuda->cuMemcpyDtoH(host, pointer(source), bytes),
          "copying from the GPU");
}

void Device::poison(void *memory, size_t bytes) {
  if (isCpu())
    memset(memory, 0xff, bytes);
  else if (bytes)
    check(cuda->cuMemsetD8Async(pointer(memory), 0xff, bytes, queue),
          "filling GPU memory");
}

void Device::synchronize() {
  if (!isCpu())
    check(cuda->cuStreamSynchronize(queue), "waiting for the GPU");
}

double Device::time(const std::function<void()> &work) {
  if (isCpu()) {
    auto start = std::chrono::steady_clock::now();
    work();
    std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    return elapsed.count();
  }
  check(cuda->cuEventRecord(start, queue), "recording an event");
  work();
  check(cuda->cuEventRecord(stop, queue), "recording an event");
  check(cuda->cuEventSynchronize(stop), "waiting for the GPU");
  float milliseconds = 0;
  check(cuda->cuEventElapsedTime(&milliseconds, start, stop),
        "reading the events' times");
  return milliseconds;
}
