//===- TensorMap.cpp - Tensor maps for TMA --------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"

#include <cinttypes>

using namespace tenon::runtime;

static_assert(sizeof(CUtensorMap) == kTenonTensorMapBytes &&
              alignof(CUtensorMap) == kTenonTensorMapAlignment);

static CUtensorMapDataType getDataType(const TenonTensorMap &map) {
  if (map.roundsTf32)
    return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  switch (map.type) {
#define TENON_DATA_TYPE(Id, Number, Mlir, Spelling, Name, Bytes, DLPack,       \
                        NumPy, Cuda, TensorMap)                                \
  case kTenon##Id:                                                             \
    return CU_TENSOR_MAP_DATA_TYPE_##TensorMap;
#include "tenon/Runtime/DataTypes.def"
  }
  return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

static CUtensorMapSwizzle getSwizzle(const TenonTensorMap &map) {
  return map.swizzleBytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : map.swizzleBytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                  : CU_TENSOR_MAP_SWIZZLE_32B;
}

static uint64_t bytesOf(TenonDType type) {
  return static_cast<uint64_t>(getTenonDataType(type).bytes);
}

static TenonStatus failEncode(const TenonCall &call, const TenonTensorMap &map,
                              const void *base, int64_t rows, int64_t columns,
                              CUresult result) {
  CudaErrorText error(call.device->driver, result);
  return fail(TENON_DEVICE_ERROR,
              "%s: no tensor map can be made on GPU %d of the matrix at %p, "
              "%" PRId64 " x %" PRId64 " elements of %" PRIu64
              " bytes, for boxes of %d x %d: %s (%s); its address and its rows "
              "must be multiples of 16 bytes, its extents below 2^32; else "
              "compile the model with tenon-compile --strategy=library",
              call.function.name.c_str(), call.device->ordinal, base, rows,
              columns, bytesOf(map.type), map.boxRows, map.boxColumns,
              error.name, error.text);
}

static TenonStatus encode(const TenonCall &call, const TenonTensorMap &map,
                          const void *base, int64_t rows, int64_t columns,
                          CUtensorMap *slot) {
  if (rows == 0)
    return TENON_OK;
  // CUDA's order: the dimension that is contiguous comes first, and has no
  // stride.
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(columns),
                                static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {extents[0] * bytesOf(map.type)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(map.boxColumns),
                            static_cast<cuuint32_t>(map.boxRows)};
  const cuuint32_t steps[] = {1, 1};
  CUresult result = call.device->driver.cuTensorMapEncodeTiled(
      slot, getDataType(map), /*tensorRank=*/2, const_cast<void *>(base),
      extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      getSwizzle(map), CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result ? failEncode(call, map, base, rows, columns, result) : TENON_OK;
}

void tenonEncodeTensorMap(TenonCall *call, const TenonTensorMap *map,
                          const void *base, int64_t rows, int64_t columns,
                          void *slot) {
  inCall(call, "a tensor map", [&] {
    return encode(*call, *map, base, rows, columns,
                  static_cast<CUtensorMap *>(slot));
  });
}
