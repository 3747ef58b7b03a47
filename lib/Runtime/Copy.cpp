//===- Copy.cpp - Copying a tensor ----------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"

#include <cstring>

using namespace tenon::runtime;

static TenonStatus copyOnDevice(const TenonCall &call, void *target,
                                const void *source, int64_t bytes) {
  const Driver &driver = call.device->driver;
  CUresult result =
      driver.cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(target),
                               reinterpret_cast<CUdeviceptr>(source),
                               static_cast<size_t>(bytes), call.stream);
  if (!result)
    return TENON_OK;
  CudaErrorText error(driver, result);
  return fail(TENON_DEVICE_ERROR, "%s: %lld bytes cannot be copied: %s (%s)",
              call.function.name.c_str(), static_cast<long long>(bytes),
              error.name, error.text);
}

void tenonCopy(TenonCall *call, void *target, const void *source,
               int64_t bytes) {
  if (call->status || bytes == 0 || target == source)
    return;
  if (call->device)
    call->status = copyOnDevice(*call, target, source, bytes);
  else // a caller may give one buffer for two tensors
    memmove(target, source, static_cast<size_t>(bytes));
}
