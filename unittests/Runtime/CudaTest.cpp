//===- CudaTest.cpp - Kernels on the fake GPU -----------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "Fakes.h"
#include "TestSupport.h"

#include <atomic>
#include <cstdlib>
#include <thread>

using namespace tenon::test;

namespace {

/// What the model's GPU code does in the current test.
struct Script {
  int64_t grid[3] = {1, 1, 1}, block[3] = {128, 1, 1}, sharedBytes = 0;
  int32_t kernel = 0, waitsItself = 0;
  int repeat = 1;
};
thread_local Script script;

void gpuCode(TenonCall *call, void **descriptors, void *) {
  void *arguments[] = {static_cast<void **>(descriptors[0]) + 1};
  for (int i = 0; i < script.repeat; ++i)
    tenonLaunchKernel(call, script.kernel, script.grid[0], script.grid[1],
                      script.grid[2], script.block[0], script.block[1],
                      script.block[2], script.sharedBytes, arguments,
                      script.waitsItself);
}

std::string manifest() {
  return oneFunction(
      R"({"name":"x","dtype":"float32","shape":["m"]})",
      R"({"name":"y","dtype":"float32","shape":["m"]})",
      R"("cuda":["sm_80","sm_86"],"ptx":"sm_86","kernels":["first","second"])");
}

std::vector<TenonFunctionImage> entries() {
  return {{nullptr, nullptr, gpuCode, nullptr}};
}

class Cuda : public testing::Test {
protected:
  Cuda() {
    fake::reset();
    script = Script();
    made = std::make_unique<TestModel>(manifest(), entries(), true);
    function = made->function("f");
  }
  TenonStatus call(void *stream = nullptr) {
    return run(function, {&x.dl}, {&y.dl}, nullptr, 0, stream);
  }

  std::unique_ptr<TestModel> made;
  TenonFunction *function;
  Tensor x{{4}, kGpu0}, y{{4}, kGpu0};
  fake::State &gpu = fake::state();
};

} // namespace

TEST_F(Cuda, LaunchesAsAsked) {
  script = {{7, 5, 3}, {64, 2, 1}, 1024, 1, 0, 1};
  auto stream = reinterpret_cast<void *>(0x5);
  ASSERT_WORKS(call(stream));
  ASSERT_EQ(gpu.numLaunches, 1);
  const fake::Launch &launch = gpu.launches[0];
  EXPECT_STREQ(launch.function->name, "second");
  using Extents = std::vector<unsigned>;
  EXPECT_EQ(Extents(launch.grid, launch.grid + 3), (Extents{7, 5, 3}));
  EXPECT_EQ(Extents(launch.block, launch.block + 3), (Extents{64, 2, 1}));
  EXPECT_EQ(launch.sharedBytes, 1024u);
  EXPECT_EQ(launch.stream, stream);
  EXPECT_EQ(launch.firstArgument, x.dl.data);
  EXPECT_FALSE(launch.waitsItself);
}

TEST_F(Cuda, StartsEarlyWhatWaitsItself) {
  script.waitsItself = 1;
  ASSERT_WORKS(call());
  EXPECT_TRUE(gpu.launches[0].waitsItself);
}

TEST_F(Cuda, LoadsOnceAndUnloadsOnClose) {
  ASSERT_WORKS(tenonModelLoad(made->model, kGpu0));
  for (int i = 0; i < 3; ++i)
    ASSERT_WORKS(call());
  EXPECT_EQ(gpu.moduleLoads, 1);
  EXPECT_EQ(gpu.handles, 1);
  EXPECT_EQ(gpu.retained[0], 1);
  EXPECT_EQ(gpu.numFunctions, 2);
  made.reset();
  EXPECT_EQ(gpu.moduleUnloads, 1);
  EXPECT_EQ(gpu.handles, 0);
  EXPECT_EQ(gpu.retained[0], 0);
  EXPECT_EQ(gpu.pushes, gpu.pops);
}

TEST_F(Cuda, ACallNeitherAllocatesNorSynchronises) {
  script.sharedBytes = 100000;
  ASSERT_WORKS(call());
  int attributeSets = gpu.attributeSets;
  const DLTensor *inputs[] = {&x.dl};
  DLTensor *outputs[] = {&y.dl};
  int64_t before = allocationCount();
  EXPECT_WORKS(
      tenonFunctionRun(function, inputs, 1, outputs, 1, nullptr, 0, nullptr));
  EXPECT_EQ(allocationCount(), before);
  EXPECT_EQ(gpu.attributeSets, attributeSets);
  EXPECT_EQ(gpu.allocations, 0);
  EXPECT_EQ(gpu.synchronisations, 0);
}

TEST_F(Cuda, PushesTheContextOnlyWhereNeeded) {
  ASSERT_WORKS(tenonModelLoad(made->model, kGpu0));
  int before = gpu.pushes;
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.pushes, before + 1);
  EXPECT_EQ(gpu.pops, gpu.pushes);
  EXPECT_EQ(fake::currentContext(), nullptr);
}

TEST_F(Cuda, RaisesSharedMemoryAboveTheDefault) {
  script.sharedBytes = 48 * 1024;
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.attributeSets, 0);
  script.sharedBytes = 227 * 1024;
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.launches[1].function->dynamicSharedLimit, 227 * 1024);
  script.sharedBytes = 228 * 1024;
  EXPECT_FAILS(call(), TENON_DEVICE_ERROR,
               "f: kernel 'first' cannot be launched on GPU 0 with grid (1, 1, "
               "1), block (128, 1, 1), 233472 bytes");
}

TEST_F(Cuda, CountsStaticSharedMemoryToo) {
  gpu.staticShared = 1024;
  script.sharedBytes = 48 * 1024 - 512;
  EXPECT_WORKS(call());
  EXPECT_EQ(gpu.attributeSets, 1);
}

TEST_F(Cuda, AnEmptyGridIsNoLaunch) {
  script.grid[1] = 0;
  x.dl.shape[0] = y.dl.shape[0] = 0;
  EXPECT_WORKS(call());
  EXPECT_EQ(gpu.numLaunches, 0);
}

TEST_F(Cuda, RefusesWhatTheDriverWouldCut) {
  script.grid[0] = int64_t(1) << 32;
  EXPECT_FAILS(call(), TENON_INVALID_ARGUMENT,
               "f: kernel 'first' is asked for with grid (4294967296, 1, 1)");
  script.grid[0] = -1;
  EXPECT_FAILS(call(), TENON_INVALID_ARGUMENT, "grid (-1, 1, 1)");
  script.grid[0] = 1;
  script.kernel = 2;
  EXPECT_FAILS(call(), TENON_NOT_FOUND, "has no kernel number 2, only 2");
  EXPECT_EQ(gpu.numLaunches, 0);
}

TEST_F(Cuda, TheFirstErrorStays) {
  script.repeat = 3;
  gpu.launchResult = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  EXPECT_FAILS(call(), TENON_DEVICE_ERROR,
               "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (described by the fake)");
  gpu.launchResult = CUDA_SUCCESS;
  EXPECT_WORKS(call());
  EXPECT_EQ(gpu.numLaunches, 3);
}

TEST_F(Cuda, LaterRequestsOfAFailedCallDoNothing) {
  auto failThenLaunch = [](TenonCall *call, void **, void *) {
    tenonLaunchKernel(call, 99, 1, 1, 1, 1, 1, 1, 0, nullptr, 0);
    tenonLaunchKernel(call, 0, 1, 1, 1, 1, 1, 1, 0, nullptr, 0);
    tenonLaunchKernel(call, 98, 1, 1, 1, 1, 1, 1, 0, nullptr, 0);
  };
  TestModel model(manifest(), {{nullptr, nullptr, failThenLaunch, nullptr}},
                  true);
  EXPECT_FAILS(run(model.function("f"), {&x.dl}, {&y.dl}), TENON_NOT_FOUND,
               "no kernel number 99");
  EXPECT_EQ(gpu.numLaunches, 0);
}

TEST_F(Cuda, NamesTheGpuThatHasNoCode) {
  gpu.loadResult = CUDA_ERROR_NO_BINARY_FOR_GPU;
  const char *message =
      "model 'test' has no code for GPU 0 (Fake GPU, sm_90): it was compiled "
      "for sm_80, sm_86 and PTX for sm_86; compile it with tenon-compile "
      "--target=sm_90a (CUDA_ERROR_NO_BINARY_FOR_GPU)";
  EXPECT_FAILS(tenonModelLoad(made->model, kGpu0), TENON_UNSUPPORTED, message);
  EXPECT_FAILS(call(), TENON_UNSUPPORTED, message);
  EXPECT_EQ(gpu.retained[0], 0);
  gpu.major = 8;
  gpu.minor = 9;
  EXPECT_FAILS(call(), TENON_UNSUPPORTED, "--target=sm_89 ");
  gpu.loadResult = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_FAILS(call(), TENON_DEVICE_ERROR,
               "GPU 0: loading the model's GPU code failed with CUDA error 2");
  gpu.loadResult = CUDA_SUCCESS;
  EXPECT_WORKS(call());
}

TEST_F(Cuda, NamesAMissingKernel) {
  gpu.missingKernel = "second";
  EXPECT_FAILS(call(), TENON_NOT_FOUND,
               "its GPU code lacks kernel 'second', which its manifest lists");
  EXPECT_EQ(gpu.moduleUnloads, 1);
}

TEST_F(Cuda, KnowsTheGpusThereAre) {
  EXPECT_FAILS(tenonModelLoad(made->model, {kDLCUDA, 2}), TENON_NOT_FOUND,
               "no GPU 2: this process sees 2");
  EXPECT_FAILS(tenonModelLoad(made->model, {kDLCUDA, -1}), TENON_NOT_FOUND,
               "no GPU -1");
  EXPECT_FAILS(tenonModelLoad(made->model, {kDLCUDA, 64}), TENON_NOT_FOUND,
               "no GPU 64");
}

TEST_F(Cuda, EachDeviceHasItsOwnState) {
  ASSERT_WORKS(call());
  x.dl.device = y.dl.device = kGpu1;
  ASSERT_WORKS(call());
  ASSERT_EQ(gpu.numLaunches, 2);
  EXPECT_EQ(gpu.launches[0].function->context->device, 0);
  EXPECT_EQ(gpu.launches[1].function->context->device, 1);
  EXPECT_EQ(gpu.moduleLoads, 2);
}

TEST_F(Cuda, ThreadsMeetInTheFirstCall) {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      DLDevice device = i % 2 ? kGpu1 : kGpu0;
      Tensor a({4}, device), b({4}, device);
      for (int round = 0; round < 200; ++round)
        failures += run(function, {&a.dl}, {&b.dl}) != TENON_OK;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(gpu.moduleLoads, 2);
  EXPECT_EQ(gpu.numLaunches, 800);
}

TEST_F(Cuda, CpuTensorsNeedCpuCode) {
  x.dl.device = y.dl.device = kCpu;
  EXPECT_FAILS(call(), TENON_UNSUPPORTED,
               "f: model 'test' has no CPU code: it was compiled for sm_80, "
               "sm_86 and PTX for sm_86");
}

//===----------------------------------------------------------------------===//
// Machines without a GPU, each in a process that has not opened the driver
//===----------------------------------------------------------------------===//

/// Loads on GPU 0 and leaves message and status to the parent.
[[noreturn]] static void loadAndExit(const char *variable, const char *value) {
  setenv(variable, value, 1);
  TestModel model(manifest(), entries(), true);
  TenonStatus status = tenonModelLoad(model.model, kGpu0);
  fprintf(stderr, "%s\n", tenonLastError());
  _exit(status);
}

class NoGpuDeathTest : public testing::Test {
protected:
  NoGpuDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(NoGpuDeathTest, NoDriver) {
  EXPECT_EXIT(loadAndExit("TENON_LIBCUDA", "/no/libcuda.so"),
              testing::ExitedWithCode(TENON_NOT_FOUND),
              "no CUDA driver: TENON_LIBCUDA=/no/libcuda.so.*install the "
              "NVIDIA driver.*or run on the CPU");
}

TEST_F(NoGpuDeathTest, ADriverWithoutTheFunctions) {
  EXPECT_EXIT(loadAndExit("TENON_LIBCUDA", TENON_TEST_MODEL),
              testing::ExitedWithCode(TENON_UNSUPPORTED),
              "the CUDA driver has no function cu");
}

TEST_F(NoGpuDeathTest, NoDevice) {
  EXPECT_EXIT(
      {
        fake::state().initResult = CUDA_ERROR_NO_DEVICE;
        loadAndExit("TENON_LIBCUDA", TENON_TEST_FAKES);
      },
      testing::ExitedWithCode(TENON_NOT_FOUND),
      "no GPU: cuInit says CUDA_ERROR_NO_DEVICE.*CUDA_VISIBLE_DEVICES");
}

TEST_F(NoGpuDeathTest, DriverThatDoesNotStart) {
  EXPECT_EXIT(
      {
        fake::state().initResult = CUDA_ERROR_NOT_INITIALIZED;
        loadAndExit("TENON_LIBCUDA", TENON_TEST_FAKES);
      },
      testing::ExitedWithCode(TENON_DEVICE_ERROR),
      "the CUDA driver does not start: cuInit says CUDA error 3.*fork");
}

TEST_F(NoGpuDeathTest, AModelOfKernelsNeedsNoCublasLt) {
  EXPECT_EXIT(loadAndExit("TENON_LIBCUBLASLT", "/no/libcublasLt.so"),
              testing::ExitedWithCode(TENON_OK), "");
}
