//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With the fakes of the runtime's tests, a GPU that tenon-run can use and whose
// products of f32 are computed: what tenon-run asks of a driver and the runtime
// does not. Kernels do nothing; FAKE_ROWS_OUTSIDE is what they would count.
//
//===----------------------------------------------------------------------===//

#include "Fakes.h"

#include <cstdlib>
#include <cstring>

static int anything; // handles point to it

template <typename Handle> static CUresult give(Handle *handle) {
  *handle = reinterpret_cast<Handle>(&anything);
  return CUDA_SUCCESS;
}

static void prepare() {
  fake::state().memoryBytes = size_t(1) << 30;
  if (const char *count = getenv("FAKE_ROWS_OUTSIDE")) {
    fake::state().counterBytes = 8;
    fake::state().counters[0] = strtoull(count, nullptr, 10);
  }
}

extern "C" {

CUresult cuCtxSetCurrent(CUcontext context) {
  return cuCtxPushCurrent(context);
}
CUresult cuMemcpyDtoHAsync(void *target, CUdeviceptr source, size_t bytes,
                           CUstream) {
  memcpy(target, reinterpret_cast<void *>(source), bytes);
  return CUDA_SUCCESS;
}
/// Comes before any work.
CUresult cuStreamCreate(CUstream *stream, unsigned) {
  prepare();
  return give(stream);
}
CUresult cuStreamDestroy(CUstream) { return CUDA_SUCCESS; }
CUresult cuEventCreate(CUevent *event, unsigned) { return give(event); }
CUresult cuEventDestroy(CUevent) { return CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent, CUstream) { return CUDA_SUCCESS; }
CUresult cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float *milliseconds, CUevent, CUevent) {
  return *milliseconds = 1, CUDA_SUCCESS;
}

} // extern "C"
