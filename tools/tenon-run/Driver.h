//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CUDA driver, opened at first need. The runtime's own table lacks memory
// and events: it never needs them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_DRIVER_H
#define TENON_TOOLS_TENON_RUN_DRIVER_H

#include <cuda.h>

#define TENON_RUN_DRIVER_FUNCTIONS(X)                                          \
  X(cuInit)                                                                    \
  X(cuGetErrorName)                                                            \
  X(cuGetErrorString)                                                          \
  X(cuDeviceGetCount)                                                          \
  X(cuDeviceGet)                                                               \
  X(cuDeviceGetName)                                                           \
  X(cuDeviceGetAttribute)                                                      \
  X(cuDevicePrimaryCtxRetain)                                                  \
  X(cuDevicePrimaryCtxRelease)                                                 \
  X(cuCtxSetCurrent)                                                           \
  X(cuMemAlloc)                                                                \
  X(cuMemFree)                                                                 \
  X(cuMemcpyHtoDAsync)                                                         \
  X(cuMemcpyDtoHAsync)                                                         \
  X(cuMemsetD8Async)                                                           \
  X(cuStreamCreate)                                                            \
  X(cuStreamDestroy)                                                           \
  X(cuStreamSynchronize)                                                       \
  X(cuEventCreate)                                                             \
  X(cuEventDestroy)                                                            \
  X(cuEventRecord)                                                             \
  X(cuEventSynchronize)

namespace tenon::run {

/// The functions, by their CUDA names.
struct Driver {
#define TENON_FIELD(name) decltype(&::name) name;
  TENON_RUN_DRIVER_FUNCTIONS(TENON_FIELD)
#undef TENON_FIELD
  /// By hand: the header renames it to a symbol that drivers before 12.8 lack.
  CUresult (*cuEventElapsedTime)(float *, CUevent, CUevent);

  /// Opens and initialises it.
  Driver();
  /// Throws what the driver says of a failure.
  void check(CUresult result, const char *what) const;
  /// Number of GPUs.
  int count() const;
};

/// The driver; throws where there is none.
const Driver &driver();

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_DRIVER_H
