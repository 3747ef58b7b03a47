//===- ClusterTest.cpp - Attributes of persistent launches ----------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PersistentTest.h"

using namespace tenon::test;

using Cluster = Persistent;

TEST_F(Cluster, PlainLaunchesHaveNoAttributes) {
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.extendedLaunches, 0);
  EXPECT_EQ(last().cluster, 0u);
  EXPECT_FALSE(last().waitsItself);
}

TEST_F(Cluster, AClusterIsAnAttributeOfTheLaunch) {
  script.clusterBlocks = 2;
  script.sharedBytes = 100 * 1024;
  ASSERT_WORKS(call());
  EXPECT_EQ(last().cluster, 2u);
  EXPECT_FALSE(last().waitsItself);
  EXPECT_EQ(last().grid[0], 4u * 2);
  EXPECT_EQ(last().grid[1] * last().grid[2], 1u);
  EXPECT_EQ(last().block[0], 256u);
  EXPECT_EQ(last().sharedBytes, 100u * 1024);
  EXPECT_EQ(last().function->dynamicSharedLimit, 100 * 1024);
}

TEST_F(Cluster, TheGridIsWholeClusters) {
  script.clusterBlocks = 2;
  script.work = 5; // one block too few: the last cluster is whole all the same
  ASSERT_WORKS(call());
  EXPECT_EQ(last().grid[0], 6u);
  script.work = 1;
  ASSERT_WORKS(call());
  EXPECT_EQ(last().grid[0], 2u);
  script.work = 100;
  script.maxBlocks = 7;
  ASSERT_WORKS(call());
  EXPECT_EQ(last().grid[0], 6u);
  script.work = int64_t(1) << 40;
  script.maxBlocks = 1 << 20;
  ASSERT_WORKS(call());
  EXPECT_EQ(last().grid[0], 32u);
}

TEST_F(Cluster, ClustersThatAreResidentAreTheBound) {
  // Groups of three multiprocessors with a block each: one cluster a group.
  gpu.multiprocessors = 6;
  gpu.processorsOfGroup = 3;
  gpu.threads = 256;
  script.clusterBlocks = 2;
  ASSERT_WORKS(call());
  EXPECT_EQ(last().grid[0], 4u);
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.occupancyQueries, 1);
  // The answer for clusters is none for single blocks.
  script.clusterBlocks = 1;
  ASSERT_WORKS(call());
  EXPECT_EQ(last().grid[0], 6u);
  EXPECT_EQ(gpu.occupancyQueries, 2);
}

TEST_F(Cluster, NoWorkIsNoClusterEither) {
  script.clusterBlocks = 2;
  script.work = 0;
  EXPECT_WORKS(call());
  EXPECT_EQ(gpu.numLaunches, 0);
  script.work = -1;
  EXPECT_FAILS(call(), TENON_INVALID_ARGUMENT, "grid (-1, 1, 1)");
}

TEST_F(Cluster, SaysThatAClusterDoesNotFit) {
  gpu.threads = 256;
  script.clusterBlocks = 8; // of four multiprocessors with room for one
  EXPECT_FAILS(call(), TENON_UNSUPPORTED,
               "f: kernel 'first' does not fit GPU 0: it has no room for a "
               "cluster of 8 times a block of 256 threads with 0 bytes of "
               "dynamic shared memory (232448 at most); compile the model for "
               "it with tenon-compile --target=sm_90a");
  // A GPU that has no clusters refuses to count them.
  gpu.occupancyResult = CUDA_ERROR_INVALID_CLUSTER_SIZE;
  script.clusterBlocks = 2;
  EXPECT_FAILS(call(), TENON_UNSUPPORTED, "a cluster of 2 times a block");
  EXPECT_EQ(gpu.numLaunches, 0);
}

TEST_F(Cluster, ALaunchsErrorNamesItsClusters) {
  script.clusterBlocks = 2;
  gpu.launchResult = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  EXPECT_FAILS(call(), TENON_DEVICE_ERROR,
               "0 bytes of dynamic shared memory, clusters of 2: "
               "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
}

TEST_F(Cluster, AKernelThatWaitsItselfMayStartEarly) {
  script.waitsItself = 1;
  ASSERT_WORKS(call());
  EXPECT_TRUE(last().waitsItself);
  EXPECT_EQ(last().cluster, 0u);
  EXPECT_EQ(last().grid[0], 32u);
  script.clusterBlocks = 2;
  ASSERT_WORKS(call());
  EXPECT_TRUE(last().waitsItself);
  EXPECT_EQ(last().cluster, 2u);
}
