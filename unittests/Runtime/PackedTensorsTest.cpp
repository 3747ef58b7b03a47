//===- PackedTensorsTest.cpp - Parameters inside a model ------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = x * w + p with packed w and p = w + b prepared, by hand, on the CPU and
// on the fake GPU, whose memory is host memory.
//
//===----------------------------------------------------------------------===//

#include "Fakes.h"
#include "TestSupport.h"

#include <atomic>
#include <thread>

using namespace tenon::test;

static std::atomic<int> numPrepared;

static float *vector(void **descriptors, int i) {
  return static_cast<float **>(descriptors[i])[1];
}
static int64_t extent(void **descriptors, int i) {
  return static_cast<int64_t *>(descriptors[i])[3];
}

static void prepare(TenonCall *, void **descriptors, void *workspace) {
  ++numPrepared;
  auto *scratch = static_cast<float *>(workspace);
  for (int64_t i = 0; i < extent(descriptors, 2); ++i) {
    scratch[i] = vector(descriptors, 0)[i];
    vector(descriptors, 2)[i] = scratch[i] + vector(descriptors, 1)[i];
  }
}
static int64_t prepareWorkspace(void **descriptors) {
  return 4 * extent(descriptors, 0);
}

/// Takes w, x, p and gives y: packed tensors may be anywhere.
static void forward(TenonCall *, void **descriptors, void *) {
  for (int64_t i = 0; i < extent(descriptors, 3); ++i)
    vector(descriptors, 3)[i] =
        vector(descriptors, 1)[i] * vector(descriptors, 0)[i] +
        vector(descriptors, 2)[i];
}
/// Its workspace is as large as a packed tensor.
static int64_t forwardWorkspace(void **descriptors) {
  return 4 * extent(descriptors, 0);
}

static const std::vector<TenonFunctionImage> kCode = {
    {forward, forwardWorkspace, forward, forwardWorkspace},
    {prepare, prepareWorkspace, prepare, prepareWorkspace}};

static std::string manifest(const std::string &packedOfForward = "[0,-1,2]",
                            int offsetOfB = 8) {
  auto tensor = [](std::string name, std::string extra = "") {
    return R"({"name":")" + name + R"(","dtype":"float32","shape":[2])" +
           extra + "}";
  };
  return R"({"name":"packed","functions":[{"name":"forward","inputs":[)" +
         tensor("x") + R"(],"outputs":[)" + tensor("y") + R"(],"packed":)" +
         packedOfForward + R"(}],"packed":{"tensors":[)" +
         tensor("w", R"(,"offset":0)") + "," +
         tensor("b", R"(,"offset":)" + std::to_string(offsetOfB)) + "," +
         tensor("prepared") +
         R"(],"prepare":[{"name":"forward_prepare","inputs":[0,1],)"
         R"("outputs":[2]}]}})";
}

namespace {
class Packed : public testing::TestWithParam<DLDevice> {
protected:
  Packed() : made(manifest(), kCode, false, {2, 3, 10, 20}) {
    fake::reset();
    numPrepared = 0;
    x.floats()[0] = 5;
    x.floats()[1] = 7;
  }

  TestModel made;
  Tensor x{{2}, GetParam()}, y{{2}, GetParam()}, workspace{{2}, GetParam()};
  fake::State &gpu = fake::state();
};
} // namespace

TEST_P(Packed, TakesActivationsAlone) {
  ASSERT_WORKS(made.status);
  TenonFunction *function = made.function("forward");
  size_t bytes = 0;
  const DLTensor *inputs[] = {&x.dl};
  ASSERT_WORKS(tenonFunctionWorkspaceSize(function, inputs, 1, &bytes));
  EXPECT_EQ(bytes, 8u);
  EXPECT_EQ(numPrepared, 0); // sizes need no values
  for (int i = 0; i < 2; ++i)
    ASSERT_WORKS(run(function, {&x.dl}, {&y.dl}, workspace.dl.data, 8));
  EXPECT_EQ(y.floats()[0], 5 * 2 + 12);
  EXPECT_EQ(y.floats()[1], 7 * 3 + 23);
  EXPECT_EQ(numPrepared, 1);
  EXPECT_FAILS(run(function, {&x.dl, &x.dl}, {&y.dl}, workspace.dl.data, 8),
               TENON_INVALID_ARGUMENT, "1 inputs expected (x), 2 given");
}

TEST_P(Packed, LoadedACallAllocatesNothing) {
  ASSERT_WORKS(tenonModelLoad(made.model, GetParam()));
  EXPECT_EQ(numPrepared, 1);
  TenonFunction *function = made.function("forward");
  const DLTensor *inputs[] = {&x.dl};
  DLTensor *outputs[] = {&y.dl};
  int64_t before = allocationCount();
  int allocations = gpu.allocations, synchronisations = gpu.synchronisations;
  ASSERT_WORKS(tenonFunctionRun(function, inputs, 1, outputs, 1,
                                workspace.dl.data, 8, nullptr));
  EXPECT_EQ(allocationCount(), before);
  EXPECT_EQ(gpu.allocations, allocations);
  EXPECT_EQ(gpu.synchronisations, synchronisations);
  EXPECT_EQ(numPrepared, 1);
}

TEST_P(Packed, PreparesOnceForAllThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back(
        [&] { EXPECT_WORKS(tenonModelLoad(made.model, GetParam())); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(numPrepared, 1);
}

INSTANTIATE_TEST_SUITE_P(Devices, Packed, testing::Values(kCpu, kGpu0),
                         [](const auto &info) {
                           return info.param.device_type == kDLCPU ? "Cpu"
                                                                   : "Gpu";
                         });

TEST(PackedOnGpus, KeepsWhatCallsReadAndFreesTheRest) {
  fake::reset();
  numPrepared = 0;
  fake::State &gpu = fake::state();
  {
    TestModel made(manifest(), kCode, false, {2, 3, 10, 20});
    ASSERT_WORKS(tenonModelLoad(made.model, kGpu0));
    EXPECT_EQ(gpu.liveAllocations, 2); // w and p; b was read by prepare alone
    ASSERT_WORKS(tenonModelLoad(made.model, kGpu1));
    EXPECT_EQ(gpu.liveAllocations, 4);
    EXPECT_EQ(numPrepared, 2);
  }
  EXPECT_EQ(gpu.liveAllocations, 0);
  EXPECT_EQ(gpu.pushes, gpu.pops);
}

TEST(PackedOnGpus, SaysWhatDoesNotFit) {
  fake::reset();
  fake::State &gpu = fake::state();
  gpu.memoryBytes = 4;
  TestModel made(manifest(), kCode, false, {2, 3, 10, 20});
  EXPECT_FAILS(tenonModelLoad(made.model, kGpu0), TENON_DEVICE_ERROR,
               "GPU 0: allocating 8 bytes for 'w' failed with CUDA error 2");
  EXPECT_EQ(gpu.liveAllocations, 0);
  EXPECT_EQ(gpu.retained[0], 0);
  gpu.memoryBytes = 1024;
  EXPECT_WORKS(tenonModelLoad(made.model, kGpu0));
}

static void expectMalformed(const std::string &text, const char *message) {
  TestModel made(text, kCode, false, {2, 3, 10, 20});
  EXPECT_FAILS(made.status, TENON_INVALID_ARGUMENT, message);
}

TEST(PackedManifest, AgreesWithItselfAndTheImage) {
  expectMalformed(manifest("[0,-1,3]"),
                  "function 'forward', packed: no packed tensor 3");
  expectMalformed(manifest("[0,2]"),
                  "function 'forward', packed: as many -1 as the function has "
                  "inputs expected");
  expectMalformed(manifest("[0,-1,2]", 12), "lists parameter 'b', its image "
                                            "lacks the values");
}
