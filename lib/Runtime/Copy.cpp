//===- Copy.cpp - Copying a tensor ----------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"

#include <cstring>
#include <vector>

using namespace tenon::runtime;

static TenonStatus check(const TenonCall &call, CUresult result,
                         int64_t bytes) {
  if (!result)
    return TENON_OK;
  CudaErrorText error(call.device->driver, result);
  return fail(TENON_DEVICE_ERROR, "%s: %lld bytes cannot be copied: %s (%s)",
              call.function.name.c_str(), static_cast<long long>(bytes),
              error.name, error.text);
}

static CUdeviceptr toDevice(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

static TenonStatus copyOnDevice(const TenonCall &call, void *target,
                                const void *source, int64_t bytes) {
  return check(call,
               call.device->driver.cuMemcpyDtoDAsync(
                   toDevice(target), toDevice(source),
                   static_cast<size_t>(bytes), call.stream),
               bytes);
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

//===----------------------------------------------------------------------===//
// Strides
//===----------------------------------------------------------------------===//

namespace {
/// A dimension of a copy; strides in bytes.
struct Dimension {
  int64_t extent, targetStride, sourceStride;
};

/// Copies blocks of neighbouring bytes.
class StridedCopy {
public:
  StridedCopy(TenonCall &call, int64_t elementBytes, int64_t rank,
              const int64_t *layout);

  void run(char *target, const char *source) { copy(0, target, source); }

private:
  void add(Dimension dimension);
  void copy(size_t depth, char *target, const char *source);
  bool copyRows(const Dimension &rows, char *target, const char *source);

  TenonCall &call;
  int64_t bytes; ///< of a block
  bool isEmpty = false;
  std::vector<Dimension> dimensions; ///< the outermost first
};
} // namespace

StridedCopy::StridedCopy(TenonCall &call, int64_t elementBytes, int64_t rank,
                         const int64_t *layout)
    : call(call), bytes(elementBytes) {
  for (int64_t i = 0; i != rank; ++i)
    add({layout[i], layout[rank + i] * elementBytes,
         layout[2 * rank + i] * elementBytes});
  if (!dimensions.empty() && dimensions.back().targetStride == bytes &&
      dimensions.back().sourceStride == bytes) {
    bytes *= dimensions.back().extent;
    dimensions.pop_back();
  }
}

/// One that continues the dimension around it in both tensors joins it.
void StridedCopy::add(Dimension dimension) {
  isEmpty |= dimension.extent == 0;
  if (dimension.extent == 1)
    return;
  if (!dimensions.empty()) {
    Dimension &outer = dimensions.back();
    if (outer.targetStride == dimension.extent * dimension.targetStride &&
        outer.sourceStride == dimension.extent * dimension.sourceStride) {
      dimension.extent *= outer.extent;
      outer = dimension;
      return;
    }
  }
  dimensions.push_back(dimension);
}

/// On the GPU all `rows` at once; false where the driver has no such copy.
bool StridedCopy::copyRows(const Dimension &rows, char *target,
                           const char *source) {
  constexpr int64_t maxPitch = (int64_t(1) << 31) - 1;
  for (int64_t pitch : {rows.targetStride, rows.sourceStride})
    if (pitch < bytes || pitch > maxPitch)
      return false;
  CUDA_MEMCPY2D parameters = {};
  parameters.srcMemoryType = parameters.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  parameters.srcDevice = toDevice(source);
  parameters.dstDevice = toDevice(target);
  parameters.srcPitch = static_cast<size_t>(rows.sourceStride);
  parameters.dstPitch = static_cast<size_t>(rows.targetStride);
  parameters.WidthInBytes = static_cast<size_t>(bytes);
  parameters.Height = static_cast<size_t>(rows.extent);
  call.status =
      check(call, call.device->driver.cuMemcpy2DAsync(&parameters, call.stream),
            bytes * rows.extent);
  return true;
}

void StridedCopy::copy(size_t depth, char *target, const char *source) {
  if (isEmpty || call.status)
    return;
  if (depth == dimensions.size())
    return tenonCopy(&call, target, source, bytes);
  const Dimension &dimension = dimensions[depth];
  if (call.device && depth + 1 == dimensions.size() &&
      copyRows(dimension, target, source))
    return;
  for (int64_t i = 0; i != dimension.extent; ++i)
    copy(depth + 1, target + i * dimension.targetStride,
         source + i * dimension.sourceStride);
}

void tenonCopyStrided(TenonCall *call, void *target, const void *source,
                      int64_t elementBytes, int64_t rank,
                      const int64_t *layout) {
  if (call->status)
    return;
  call->status = guarded([&] {
    StridedCopy(*call, elementBytes, rank, layout)
        .run(static_cast<char *>(target), static_cast<const char *>(source));
    return call->status;
  });
}
