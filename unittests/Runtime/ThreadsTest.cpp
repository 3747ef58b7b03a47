//===- ThreadsTest.cpp - tenonParallelFor ---------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tenon::test;

/// tenonParallelFor with a lambda.
template <typename Body> static void parallelFor(int64_t count, Body body) {
  tenonParallelFor(
      [](int64_t index, void *context) {
        (*static_cast<Body *>(context))(index);
      },
      count, &body);
}

static std::vector<int> visits(int64_t count) {
  std::vector<int> result(count);
  parallelFor(count, [&](int64_t index) { ++result[index]; });
  return result;
}

TEST(Threads, VisitsEveryIndexOnce) {
  for (int64_t count : {0, 1, 2, 3, 7, 64, 1000, 100003})
    EXPECT_EQ(visits(count), std::vector<int>(count, 1)) << count;
  parallelFor(-5, [](int64_t) { ADD_FAILURE(); });
}

TEST(Threads, UsesSeveralThreads) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> waiting{0};
  // Each of the four indices waits for another to arrive.
  parallelFor(4, [&](int64_t) {
    ++waiting;
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (waiting < 2 && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    std::lock_guard<std::mutex> lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_GE(threads.size(), 2u);
  EXPECT_LE(threads.size(), 4u);
}

TEST(Threads, OneIndexRunsOnTheCaller) {
  std::thread::id where;
  parallelFor(1, [&](int64_t) { where = std::this_thread::get_id(); });
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST(Threads, NestedCallsAreSerial) {
  std::atomic<int64_t> total{0};
  std::atomic<int> strangers{0};
  // Few outer indices and slow inner ones: idle workers would take some.
  parallelFor(2, [&](int64_t) {
    auto outer = std::this_thread::get_id();
    parallelFor(100, [&](int64_t index) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      total += index;
      strangers += std::this_thread::get_id() != outer;
    });
  });
  EXPECT_EQ(total, 2 * 4950);
  EXPECT_EQ(strangers, 0);
}

TEST(Threads, SeveralCallersAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&wrong, caller] {
      for (int round = 0; round < 500; ++round) {
        int64_t count = 1 + (caller * 37 + round) % 200;
        if (visits(count) != std::vector<int>(count, 1))
          ++wrong;
      }
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, AllocatesNothing) {
  parallelFor(64, [](int64_t) {});
  int64_t before = allocationCount();
  parallelFor(64, [](int64_t) {});
  EXPECT_EQ(allocationCount(), before);
}

TEST(Threads, AChildMakesItsOwnPool) {
  if (TENON_TEST_UNDER_TSAN)
    GTEST_SKIP();
  visits(100);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0)
    _exit(visits(1000) == std::vector<int>(1000, 1) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
