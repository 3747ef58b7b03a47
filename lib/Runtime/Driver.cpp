//===- Driver.cpp - The CUDA driver, opened at first need -----------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "Error.h"
#include "SharedLibrary.h"

#include <atomic>
#include <cstdio>
#include <mutex>

using namespace tenon::runtime;

CudaErrorText::CudaErrorText(const Driver &driver, CUresult result) {
  snprintf(number, sizeof(number), "CUDA error %d", static_cast<int>(result));
  if (driver.cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    name = number;
  if (driver.cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    text = "no description";
}

static TenonStatus initialise(const Driver &driver) {
  CUresult result = driver.cuInit(0);
  if (result == CUDA_SUCCESS)
    return TENON_OK;
  CudaErrorText error(driver, result);
  if (result == CUDA_ERROR_NO_DEVICE)
    return fail(TENON_NOT_FOUND,
                "no GPU: cuInit says %s (%s); check nvidia-smi and "
                "CUDA_VISIBLE_DEVICES, or run on the CPU",
                error.name, error.text);
  return fail(TENON_DEVICE_ERROR,
              "the CUDA driver does not start: cuInit says %s (%s); after a "
              "fork, CUDA works only in the process that used it first",
              error.name, error.text);
}

static TenonStatus openDriver(Driver &driver) {
  std::string problem;
  void *library = openLibrary("TENON_LIBCUDA", {"libcuda.so.1"}, problem);
  if (!library)
    return fail(TENON_NOT_FOUND,
                "no CUDA driver: %s; install the NVIDIA driver (in a "
                "container, pass the GPU in), or run on the CPU",
                problem.c_str());
  const char *missing = nullptr;
  auto require = [&](const char *name, auto *&function) {
    if (!resolve(library, name, function))
      missing = name;
  };
#define TENON_RESOLVE(name) require(TENON_SYMBOL_NAME(name), driver.name);
  TENON_DRIVER_FUNCTIONS(TENON_RESOLVE)
#undef TENON_RESOLVE
  require("cuEventElapsedTime", driver.cuEventElapsedTime);
  if (missing)
    return fail(TENON_UNSUPPORTED,
                "the CUDA driver has no function %s; Tenon needs a driver for "
                "CUDA 12 or newer",
                missing);
  return initialise(driver);
}

TenonStatus tenon::runtime::getDriver(const Driver *&driver) {
  static std::atomic<const Driver *> opened{nullptr};
  static std::mutex mutex;
  static Driver table; // never destroyed: models may close during exit
  driver = opened.load(std::memory_order_acquire);
  if (driver)
    return TENON_OK;
  std::lock_guard<std::mutex> lock(mutex);
  if (!opened.load(std::memory_order_relaxed)) {
    if (TenonStatus status = openDriver(table))
      return status;
    opened.store(&table, std::memory_order_release);
  }
  driver = &table;
  return TENON_OK;
}
