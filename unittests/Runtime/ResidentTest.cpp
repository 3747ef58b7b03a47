//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches whose blocks wait for each other.
//
//===----------------------------------------------------------------------===//

#include "PersistentTest.h"

using namespace tenon::test;

using Resident = Persistent;

TEST_F(Resident, LaunchesAreCooperative) {
  ASSERT_WORKS(call());
  EXPECT_FALSE(last().cooperative);
  script.minBlocks = 8;
  ASSERT_WORKS(call());
  EXPECT_TRUE(last().cooperative);
  EXPECT_EQ(last().grid[0], 32u);
  EXPECT_NE(lastToken(), 0);
}

TEST_F(Resident, ClustersGoTogetherWithIt) {
  script.minBlocks = 8;
  script.clusterBlocks = 2;
  ASSERT_WORKS(call());
  EXPECT_TRUE(last().cooperative);
  EXPECT_EQ(last().cluster, 2u);
}

TEST_F(Resident, AnEarlyStartDoesNot) {
  script.minBlocks = 8;
  script.waitsItself = 1;
  ASSERT_WORKS(call());
  EXPECT_TRUE(last().cooperative);
  EXPECT_FALSE(last().waitsItself);
}

TEST_F(Resident, TheSmallestGridThatMayBe) {
  script.minBlocks = 32;
  ASSERT_WORKS(call());
  EXPECT_EQ(last().grid[0], 32u);
  script.minBlocks = 33;
  EXPECT_FAILS(call(), TENON_UNSUPPORTED,
               "f: kernel 'first' needs 33 thread blocks on GPU 0 together, as "
               "many as reduce the same columns or rows, but only 32 fit; "
               "compile the model with tenon-compile --reduction=separate");
  EXPECT_EQ(gpu.numLaunches, 1);
}

TEST_F(Resident, ClustersThatFitCount) {
  // Groups of three multiprocessors with a block each: one cluster a group.
  gpu.multiprocessors = 6;
  gpu.processorsOfGroup = 3;
  gpu.threads = 256;
  script.clusterBlocks = 2;
  script.minBlocks = 4;
  ASSERT_WORKS(call());
  EXPECT_EQ(last().grid[0], 4u);
  script.minBlocks = 6;
  EXPECT_FAILS(call(), TENON_UNSUPPORTED, "but only 4 fit");
}

TEST_F(Resident, AKernelMayAskHowManyBlocksFit) {
  script.asks = true;
  ASSERT_WORKS(call());
  EXPECT_EQ(answer, 32);
  script.maxBlocks = 20;
  ASSERT_WORKS(call());
  EXPECT_EQ(answer, 20);
  EXPECT_EQ(gpu.numLaunches, 0);
}

TEST_F(Resident, WhatDoesNotFitIsNoErrorWhereItIsAsked) {
  script.asks = true;
  script.sharedBytes = 1 << 30;
  ASSERT_WORKS(call());
  EXPECT_EQ(answer, 0);
}

TEST_F(Resident, ClustersAreWholeInTheAnswer) {
  gpu.multiprocessors = 6;
  gpu.processorsOfGroup = 3;
  gpu.threads = 256;
  script.asks = true;
  script.clusterBlocks = 2;
  ASSERT_WORKS(call());
  EXPECT_EQ(answer, 4);
}

TEST_F(Resident, AnUnknownKernelIsAnErrorWhereItIsAskedFor) {
  script.asks = true;
  script.kernel = 7;
  EXPECT_FAILS(call(), TENON_NOT_FOUND, "has no kernel number 7");
  EXPECT_EQ(answer, 0);
}
