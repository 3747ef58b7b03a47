//===- RowsOutsideTest.cpp - How often the slower path ran ----------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The counter of rows outside, read from the fake GPU. What a kernel would add
// to it, the model's code adds here.
//
//===----------------------------------------------------------------------===//

#include "Fakes.h"
#include "TestSupport.h"

using namespace tenon::test;

/// Finds one row outside in each call.
static void gpuCode(TenonCall *call, void **, void *) {
  tenonLaunchKernel(call, 0, 1, 1, 1, 1, 1, 1, 0, nullptr, 0);
  auto *context = reinterpret_cast<fake::Context *>(fake::currentContext());
  ++fake::state().counters[context->device];
}

namespace {
class RowsOutside : public testing::Test {
protected:
  RowsOutside() {
    fake::reset();
    gpu.counterBytes = 8;
    made = std::make_unique<TestModel>(
        oneFunction(R"({"name":"x","dtype":"float32","shape":["m"]})",
                    R"({"name":"y","dtype":"float32","shape":["m"]})",
                    R"("cuda":["sm_90a"],"kernels":["split"])"),
        std::vector<TenonFunctionImage>{{nullptr, nullptr, gpuCode, nullptr}},
        /*hasGpuCode=*/true);
    function = made->function("f");
  }

  void call(DLDevice device) {
    Tensor x{{4}, device}, y{{4}, device};
    ASSERT_WORKS(run(function, {&x.dl}, {&y.dl}));
  }

  /// Of a device; fails where the runtime does.
  uint64_t countOf(DLDevice device) {
    uint64_t count = 99;
    EXPECT_WORKS(tenonModelCountRowsOutside(made->model, device, &count));
    return count;
  }

  std::unique_ptr<TestModel> made;
  TenonFunction *function;
  fake::State &gpu = fake::state();
};
} // namespace

TEST_F(RowsOutside, AreCountedOnEachDevice) {
  call(kGpu0);
  call(kGpu0);
  call(kGpu1);
  EXPECT_EQ(countOf(kGpu0), 2u);
  EXPECT_EQ(countOf(kGpu1), 1u);
  gpu.counters[1] = uint64_t(1) << 40;
  EXPECT_EQ(countOf(kGpu1), uint64_t(1) << 40);
  EXPECT_EQ(countOf(kCpu), 0u);
}

TEST_F(RowsOutside, WaitsForTheDeviceAndLeavesNoContext) {
  call(kGpu0);
  EXPECT_EQ(gpu.synchronisations, 0);
  EXPECT_EQ(countOf(kGpu0), 1u);
  EXPECT_EQ(gpu.synchronisations, 1);
  EXPECT_EQ(gpu.pushes, gpu.pops);
  EXPECT_EQ(fake::currentContext(), nullptr);
}

TEST_F(RowsOutside, AreNoneWhereNothingRan) {
  for (DLDevice device : {kGpu0, DLDevice{kDLCUDA, -1}, DLDevice{kDLCUDA, 64}})
    EXPECT_EQ(countOf(device), 0u);
  EXPECT_EQ(gpu.moduleLoads, 0);
  ASSERT_WORKS(tenonModelLoad(made->model, kGpu0));
  EXPECT_EQ(countOf(kGpu0), 0u);
}

TEST_F(RowsOutside, AreNoneWhereNothingIsSplit) {
  gpu.counterBytes = 0;
  call(kGpu0);
  EXPECT_EQ(countOf(kGpu0), 0u);
  EXPECT_EQ(gpu.synchronisations, 0);
}

TEST_F(RowsOutside, AreNoneWithoutKernels) {
  auto nothing = [](TenonCall *, void **, void *) {};
  TestModel model(oneFunction("", ""), {{nullptr, nullptr, nothing, nullptr}});
  ASSERT_WORKS(tenonModelLoad(model.model, kGpu0));
  uint64_t count = 99;
  EXPECT_WORKS(tenonModelCountRowsOutside(model.model, kGpu0, &count));
  EXPECT_EQ(count, 0u);
}

TEST_F(RowsOutside, AreCountedByImageToo) {
  uint64_t count = 99;
  EXPECT_WORKS(tenonImageCountRowsOutside(&made->image, kGpu0, &count));
  EXPECT_EQ(count, 0u);
  Tensor x{{4}, kGpu0}, y{{4}, kGpu0};
  const DLTensor *inputs[] = {&x.dl};
  DLTensor *outputs[] = {&y.dl};
  // A model made of an image is there to the end of the process.
  static const std::unique_ptr<TestModel> kept = std::move(made);
  for (int i = 0; i < 3; ++i)
    ASSERT_WORKS(tenonImageRun(&kept->image, 0, inputs, 1, outputs, 1, nullptr,
                               0, nullptr));
  EXPECT_WORKS(tenonImageCountRowsOutside(&kept->image, kGpu0, &count));
  EXPECT_EQ(count, 3u);
}

TEST_F(RowsOutside, DriversErrorsAreToldApart) {
  call(kGpu0);
  uint64_t count = 99;
  auto expect = [&](TenonStatus status, const char *message) {
    EXPECT_FAILS(tenonModelCountRowsOutside(made->model, kGpu0, &count), status,
                 message);
    EXPECT_EQ(count, 0u);
  };
  for (CUresult *result :
       {&gpu.globalResult, &gpu.synchroniseResult, &gpu.downloadResult}) {
    *result = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    expect(TENON_DEVICE_ERROR,
           "GPU 0: counting the rows outside failed with "
           "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (described by the fake)");
    *result = CUDA_SUCCESS;
  }
  gpu.synchroniseResult = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  expect(TENON_DEVICE_ERROR,
         "GPU 0: rows outside cannot be counted during a graph capture, which "
         "would have to wait; count them after it");
  gpu.synchroniseResult = CUDA_SUCCESS;
  gpu.counterBytes = 4;
  expect(TENON_UNSUPPORTED,
         "model 'test': its counter of rows outside has 4 bytes, not 8; "
         "compile the model again");
}

TEST_F(RowsOutside, ArgumentsAreChecked) {
  uint64_t count;
  EXPECT_FAILS(tenonModelCountRowsOutside(nullptr, kGpu0, &count),
               TENON_INVALID_ARGUMENT,
               "tenonModelCountRowsOutside: null model");
  EXPECT_FAILS(tenonModelCountRowsOutside(made->model, kGpu0, nullptr),
               TENON_INVALID_ARGUMENT,
               "tenonModelCountRowsOutside: null count");
  EXPECT_FAILS(tenonModelCountRowsOutside(made->model, {kDLMetal, 0}, &count),
               TENON_INVALID_ARGUMENT,
               "counting the rows outside: device type 8; kDLCPU (1) and");
  EXPECT_FAILS(tenonImageCountRowsOutside(nullptr, kGpu0, &count),
               TENON_INVALID_ARGUMENT,
               "tenonImageCountRowsOutside: null image");
}
