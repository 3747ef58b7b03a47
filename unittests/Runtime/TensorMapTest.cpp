//===- TensorMapTest.cpp - Tensor maps on the fake GPU --------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fakes.h"
#include "TestSupport.h"

#include <cstring>

using namespace tenon::test;

namespace {

/// What the model's code encodes in the current test, and the result.
struct Script {
  TenonTensorMap map{kTenonBF16, 0, 128, 64, 128};
  int64_t rows = 300, columns = 200;
  alignas(kTenonTensorMapAlignment) unsigned char slot[kTenonTensorMapBytes];
};
thread_local Script script;

void *const kMatrix = reinterpret_cast<void *>(0x10000);

void gpuCode(TenonCall *call, void **, void *) {
  tenonEncodeTensorMap(call, &script.map, kMatrix, script.rows, script.columns,
                       script.slot);
}

class TensorMap : public testing::Test {
protected:
  TensorMap() {
    fake::reset();
    script = Script();
    std::string tensors = R"({"name":"x","dtype":"float32","shape":["m"]})";
    std::string results = R"({"name":"y","dtype":"float32","shape":["m"]})";
    TenonFunctionImage image{gpuCode, nullptr, gpuCode, nullptr};
    made = std::make_unique<TestModel>(
        oneFunction(tensors, results, R"("cuda":["sm_90a"],"kernels":[])"),
        std::vector<TenonFunctionImage>{image}, /*hasGpuCode=*/true);
    function = made->function("f");
  }
  TenonStatus call() { return run(function, {&x.dl}, {&y.dl}); }
  fake::TensorMap encoded() {
    fake::TensorMap map;
    std::memcpy(&map, script.slot, sizeof(map));
    return map;
  }

  std::unique_ptr<TestModel> made;
  TenonFunction *function;
  Tensor x{{4}, kGpu0}, y{{4}, kGpu0};
  fake::State &gpu = fake::state();
};

} // namespace

TEST_F(TensorMap, ColumnsComeFirst) {
  ASSERT_WORKS(call());
  fake::TensorMap map = encoded();
  EXPECT_EQ(map.base, 0x10000u);
  EXPECT_EQ(map.rank, 2u);
  EXPECT_EQ(map.extents[0], 200u);
  EXPECT_EQ(map.extents[1], 300u);
  EXPECT_EQ(map.stride, 200u * 2);
  EXPECT_EQ(map.box[0], 64u);
  EXPECT_EQ(map.box[1], 128u);
  EXPECT_EQ(map.steps[0], 1u);
  EXPECT_EQ(map.steps[1], 1u);
  EXPECT_EQ(map.interleave, CU_TENSOR_MAP_INTERLEAVE_NONE);
  EXPECT_EQ(map.promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  EXPECT_EQ(map.fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

TEST_F(TensorMap, ElementTypesAndTheirBytes) {
  struct Case {
    TenonDType type;
    int32_t roundsTf32;
    CUtensorMapDataType expected;
    uint64_t bytes;
  };
  for (Case each : {Case{kTenonF16, 0, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2},
                    Case{kTenonBF16, 0, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2},
                    Case{kTenonF32, 0, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4},
                    Case{kTenonF32, 1, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 4}}) {
    script.map.type = each.type;
    script.map.roundsTf32 = each.roundsTf32;
    ASSERT_WORKS(call());
    EXPECT_EQ(encoded().type, static_cast<uint32_t>(each.expected));
    EXPECT_EQ(encoded().stride, 200 * each.bytes);
  }
}

TEST_F(TensorMap, Swizzles) {
  for (auto [bytes, expected] : {std::pair{128, CU_TENSOR_MAP_SWIZZLE_128B},
                                 std::pair{64, CU_TENSOR_MAP_SWIZZLE_64B},
                                 std::pair{32, CU_TENSOR_MAP_SWIZZLE_32B}}) {
    script.map.swizzleBytes = bytes;
    ASSERT_WORKS(call());
    EXPECT_EQ(encoded().swizzle, static_cast<uint32_t>(expected));
  }
}

TEST_F(TensorMap, ExtentsMayExceed32Bits) {
  script.rows = int64_t(1) << 31;
  script.columns = int64_t(1) << 31;
  ASSERT_WORKS(call());
  EXPECT_EQ(encoded().extents[1], uint64_t(1) << 31);
  EXPECT_EQ(encoded().stride, uint64_t(1) << 32);
}

TEST_F(TensorMap, AMatrixWithoutRowsHasNone) {
  script.rows = 0;
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.numMaps, 0);
}

TEST_F(TensorMap, SaysWhatCannotBeEncoded) {
  gpu.encodeResult = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  EXPECT_FAILS(
      call(), TENON_DEVICE_ERROR,
      "f: no tensor map can be made on GPU 0 of the matrix at 0x10000, "
      "300 x 200 elements of 2 bytes, for boxes of 128 x 64: "
      "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (described by the fake); "
      "its address and its rows must be multiples of 16 bytes, its "
      "extents below 2^32; else compile the model with tenon-compile "
      "--strategy=library");
}

TEST_F(TensorMap, IsForGpuCode) {
  Tensor a({4}), b({4});
  EXPECT_FAILS(run(function, {&a.dl}, {&b.dl}), TENON_UNSUPPORTED,
               "f: the model's CPU code asked for a tensor map");
}
