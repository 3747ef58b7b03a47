//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CUDA driver, opened as the runtime opens it.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "Error.h"
#include "Runtime/SharedLibrary.h"

using namespace tenon::run;

Driver::Driver() {
  std::string problem;
  void *library =
      tenon::runtime::openLibrary("TENON_LIBCUDA", {"libcuda.so.1"}, problem);
  if (!library)
    throw Error("no CUDA driver: " + problem +
                "; install the NVIDIA driver (in a container, pass the GPU in) "
                "or run with --target=cpu");
  auto require = [&](const char *name, auto *&function) {
    if (!tenon::runtime::resolve(library, name, function))
      throw Error(std::string("the CUDA driver has no function ") + name +
                  "; Tenon needs a driver for CUDA 12 or newer");
  };
#define TENON_RESOLVE(name) require(TENON_SYMBOL_NAME(name), name);
  TENON_RUN_DRIVER_FUNCTIONS(TENON_RESOLVE)
#undef TENON_RESOLVE
  require("cuEventElapsedTime", cuEventElapsedTime);
  if (CUresult result = cuInit(0); result == CUDA_ERROR_NO_DEVICE)
    throw Error("no GPU: check nvidia-smi and CUDA_VISIBLE_DEVICES, or run "
                "with --target=cpu");
  else
    check(result, "cuInit");
}

void Driver::check(CUresult result, const char *what) const {
  if (result == CUDA_SUCCESS)
    return;
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  throw Error(std::string(what) + " failed with " +
              (name ? name : "CUDA error " + std::to_string(result)) + " (" +
              (text ? text : "no description") +
              "); check the GPU with nvidia-smi, or run with --target=cpu");
}

int Driver::count() const {
  int count = 0;
  check(cuDeviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

const Driver &tenon::run::driver() {
  static const Driver table;
  return table;
}
