//===- PersistentTest.cpp - Persistent launches on the fake GPU -----------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PersistentTest.h"

#include <atomic>
#include <set>
#include <thread>

using namespace tenon::test;

TEST_F(Persistent, TheSmallestBoundIsTheGrid) {
  ASSERT_WORKS(call());
  EXPECT_EQ(last().grid[0], 4u * (2048 / 256)); // resident
  script.maxBlocks = 31;
  ASSERT_WORKS(call());
  EXPECT_EQ(last().grid[0], 31u);
  script.work = 7;
  ASSERT_WORKS(call());
  EXPECT_EQ(last().grid[0], 7u);
  EXPECT_EQ(last().grid[1] * last().grid[2], 1u);
  EXPECT_EQ(last().block[0], 256u);
  EXPECT_EQ(last().block[1] * last().block[2], 1u);
}

TEST_F(Persistent, MoreWorkThanAGridHoldsIsNoError) {
  script.work = int64_t(1) << 40;
  ASSERT_WORKS(call());
  EXPECT_EQ(last().grid[0], 32u);
}

TEST_F(Persistent, ResidencyFollowsThreadsAndSharedMemory) {
  script.threads = 1024;
  ASSERT_WORKS(call());
  EXPECT_EQ(last().grid[0], 4u * 2);
  script.sharedBytes = 40 * 1024;
  script.threads = 128;
  ASSERT_WORKS(call());
  EXPECT_EQ(last().grid[0], 4u * 5);
  EXPECT_EQ(last().sharedBytes, 40u * 1024);
}

TEST_F(Persistent, TheLimitIsRaisedBeforeOccupancyIsAsked) {
  script.sharedBytes = 100 * 1024;
  ASSERT_WORKS(call());
  EXPECT_EQ(last().function->dynamicSharedLimit, 100 * 1024);
  EXPECT_EQ(last().grid[0], 4u * 2);
}

TEST_F(Persistent, OccupancyIsAskedOnceForEachKernelAndSize) {
  for (int i = 0; i < 3; ++i)
    ASSERT_WORKS(call());
  EXPECT_EQ(gpu.occupancyQueries, 1);
  script.sharedBytes = 1024;
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.occupancyQueries, 2);
  script.kernel = 1;
  ASSERT_WORKS(call());
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.occupancyQueries, 3);
  EXPECT_STREQ(last().function->name, "second");
}

TEST_F(Persistent, ACallNeitherAllocatesNorSynchronises) {
  script.sharedBytes = 100 * 1024;
  ASSERT_WORKS(call());
  int attributeSets = gpu.attributeSets;
  const DLTensor *inputs[] = {&x.dl};
  DLTensor *outputs[] = {&y.dl};
  int64_t before = allocationCount();
  EXPECT_WORKS(
      tenonFunctionRun(function, inputs, 1, outputs, 1, nullptr, 0, nullptr));
  EXPECT_EQ(allocationCount(), before);
  EXPECT_EQ(gpu.attributeSets, attributeSets);
  EXPECT_EQ(gpu.occupancyQueries, 1);
  EXPECT_EQ(gpu.allocations, 0);
  EXPECT_EQ(gpu.synchronisations, 0);
}

TEST_F(Persistent, EachLaunchHasATokenOfItsOwn) {
  std::set<int64_t> tokens;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_WORKS(call());
    tokens.insert(lastToken());
  }
  EXPECT_EQ(tokens.size(), 1000u);
  EXPECT_EQ(tokens.count(0), 0u);
  EXPECT_EQ(tokens.count(kOld), 0u);
  // Numbers that memory is unlikely to hold use all of their bits.
  int64_t any = 0;
  for (int64_t token : tokens)
    any |= token;
  EXPECT_EQ(any, -1);
}

TEST_F(Persistent, ALaunchWithoutATokenKeepsItsArguments) {
  script.hasToken = false;
  ASSERT_WORKS(call());
  EXPECT_EQ(lastToken(), kOld);
}

TEST_F(Persistent, ThreadsNeverShareAToken) {
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      Tensor a({4}, kGpu0), b({4}, kGpu0);
      for (int round = 0; round < 500; ++round)
        failures += run(function, {&a.dl}, {&b.dl}) != TENON_OK;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  ASSERT_EQ(gpu.numLaunches, 2000);
  std::set<void *> tokens;
  for (int i = 0; i < gpu.numLaunches; ++i)
    tokens.insert(gpu.launches[i].firstArgument);
  EXPECT_EQ(tokens.size(), 2000u);
}

TEST_F(Persistent, NoWorkIsNoLaunch) {
  script.work = 0;
  EXPECT_WORKS(call());
  EXPECT_EQ(gpu.numLaunches, 0);
  EXPECT_EQ(gpu.occupancyQueries, 0);
}

TEST_F(Persistent, SaysThatAKernelDoesNotFit) {
  gpu.major = 8;
  gpu.minor = 6;
  gpu.staticShared = 1024;
  script.sharedBytes = 227 * 1024;
  EXPECT_FAILS(call(), TENON_UNSUPPORTED,
               "f: kernel 'first' does not fit GPU 0: no multiprocessor has "
               "room for a block of 256 threads with 232448 bytes of dynamic "
               "shared memory (231424 at most); compile the model for it with "
               "tenon-compile --target=sm_86");
  // The same where the driver grants the bytes, but finds no room.
  script.sharedBytes = 1024;
  gpu.threads = 255;
  EXPECT_FAILS(call(), TENON_UNSUPPORTED,
               "a block of 256 threads with 1024 bytes of dynamic");
  EXPECT_EQ(gpu.numLaunches, 0);
}

TEST_F(Persistent, RefusesWhatTheDriverWouldCut) {
  script.threads = 1025;
  EXPECT_FAILS(call(), TENON_INVALID_ARGUMENT, "block (1025, 1, 1)");
  script.threads = 256;
  script.sharedBytes = int64_t(1) << 32;
  EXPECT_FAILS(call(), TENON_INVALID_ARGUMENT, "4294967296 bytes");
  script.sharedBytes = 0;
  script.work = -1;
  EXPECT_FAILS(call(), TENON_INVALID_ARGUMENT, "grid (-1, 1, 1)");
  script.work = 1;
  script.kernel = 2;
  EXPECT_FAILS(call(), TENON_NOT_FOUND, "has no kernel number 2, only 2");
  EXPECT_EQ(gpu.numLaunches, 0);
}

TEST_F(Persistent, PassesOnTheDriversErrors) {
  gpu.occupancyResult = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  EXPECT_FAILS(call(), TENON_DEVICE_ERROR,
               "f: kernel 'first' cannot be launched on GPU 0 with grid "
               "(1048576, 1, 1), block (256, 1, 1), 0 bytes of dynamic shared "
               "memory: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
  gpu.occupancyResult = CUDA_SUCCESS;
  gpu.launchResult = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  EXPECT_FAILS(call(), TENON_DEVICE_ERROR, "with grid (32, 1, 1)");
  EXPECT_EQ(gpu.occupancyQueries, 2); // the failed one was not kept
}
