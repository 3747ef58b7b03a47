//===- Driver.h - The CUDA driver, opened at first need ---------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libcuda.so.1 is never linked, so that a machine without a GPU can load the
// runtime and every model. TENON_LIBCUDA names another file (tests). tenon-run,
// which times calls on streams of its own, is compiled with this table too.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_DRIVER_H
#define TENON_LIB_RUNTIME_DRIVER_H

#include "Api.h"

#include <cuda.h>

#define TENON_DRIVER_FUNCTIONS(X)                                              \
  X(cuInit)                                                                    \
  X(cuGetErrorName)                                                            \
  X(cuGetErrorString)                                                          \
  X(cuDeviceGetCount)                                                          \
  X(cuDeviceGet)                                                               \
  X(cuDeviceGetName)                                                           \
  X(cuDeviceGetAttribute)                                                      \
  X(cuDevicePrimaryCtxRetain)                                                  \
  X(cuDevicePrimaryCtxRelease)                                                 \
  X(cuCtxGetCurrent)                                                           \
  X(cuCtxPushCurrent)                                                          \
  X(cuCtxPopCurrent)                                                           \
  X(cuCtxSynchronize)                                                          \
  X(cuModuleLoadData)                                                          \
  X(cuModuleUnload)                                                            \
  X(cuModuleGetFunction)                                                       \
  X(cuModuleGetGlobal)                                                         \
  X(cuFuncGetAttribute)                                                        \
  X(cuFuncSetAttribute)                                                        \
  X(cuLaunchKernel)                                                            \
  X(cuLaunchKernelEx)                                                          \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                               \
  X(cuOccupancyMaxActiveClusters)                                              \
  X(cuTensorMapEncodeTiled)                                                    \
  X(cuMemAlloc)                                                                \
  X(cuMemFree)                                                                 \
  X(cuMemcpyHtoDAsync)                                                         \
  X(cuMemcpyDtoDAsync)                                                         \
  X(cuMemcpy2DAsync)                                                           \
  X(cuMemcpyDtoH)                                                              \
  X(cuMemsetD8Async)                                                           \
  X(cuStreamCreate)                                                            \
  X(cuStreamDestroy)                                                           \
  X(cuStreamSynchronize)                                                       \
  X(cuEventCreate)                                                             \
  X(cuEventDestroy)                                                            \
  X(cuEventRecord)                                                             \
  X(cuEventSynchronize)

namespace tenon::runtime {

/// The driver's functions, by their CUDA names.
struct Driver {
#define TENON_FIELD(name) decltype(&::name) name;
  TENON_DRIVER_FUNCTIONS(TENON_FIELD)
#undef TENON_FIELD
  /// By hand: the header renames it to a symbol that drivers before 12.8 lack.
  CUresult (*cuEventElapsedTime)(float *, CUevent, CUevent);
};

/// Opens and initialises the driver once. A failure is not remembered: a driver
/// that appears later (a started container hook) is found.
TenonStatus getDriver(const Driver *&driver);

/// "CUDA_ERROR_X (what it means)"; points into the driver or `buffer`.
struct CudaErrorText {
  CudaErrorText(const Driver &driver, CUresult result);
  const char *name;
  const char *text;
  char number[32];
};

/// Makes a primary context current for a scope, unless it is already: PyTorch's
/// threads have it, and a push costs more than a launch's bookkeeping.
class ContextScope {
public:
  ContextScope(const Driver &driver, CUcontext context) : driver(driver) {
    CUcontext current = nullptr;
    result = driver.cuCtxGetCurrent(&current);
    if (result == CUDA_SUCCESS && current != context) {
      result = driver.cuCtxPushCurrent(context);
      pushed = result == CUDA_SUCCESS;
    }
  }
  ~ContextScope() {
    CUcontext popped;
    if (pushed)
      driver.cuCtxPopCurrent(&popped);
  }
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

  CUresult result;

private:
  const Driver &driver;
  bool pushed = false;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_DRIVER_H
