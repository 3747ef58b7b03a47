//===- PersistentTest.h - A model of one persistent launch -----*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_UNITTESTS_RUNTIME_PERSISTENTTEST_H
#define TENON_UNITTESTS_RUNTIME_PERSISTENTTEST_H

#include "Fakes.h"
#include "TestSupport.h"

namespace tenon::test {

/// What the model's GPU code does in the current test.
struct Script {
  int64_t work = 1 << 20, maxBlocks = 1 << 20, threads = 256, sharedBytes = 0;
  int32_t kernel = 0, clusterBlocks = 1, waitsItself = 0, minBlocks = 0;
  bool hasToken = true;
  bool asks = false; ///< how many blocks are resident
};
inline thread_local Script script;

/// What the slot of the token holds before.
inline constexpr int64_t kOld = 12345;
/// What the model's GPU code was told when it asked.
inline thread_local int64_t answer;

inline void gpuCode(TenonCall *call, void **, void *) {
  int64_t slot = kOld;
  void *arguments[] = {&slot};
  TenonPersistentKernel kernel{script.kernel, script.clusterBlocks,
                               script.maxBlocks, script.waitsItself,
                               script.minBlocks};
  if (script.asks) {
    answer =
        tenonResidentBlocks(call, &kernel, script.threads, script.sharedBytes);
    return;
  }
  tenonLaunchPersistent(call, &kernel, script.work, script.threads,
                        script.sharedBytes, arguments,
                        script.hasToken ? &slot : nullptr);
}

class Persistent : public testing::Test {
protected:
  Persistent() {
    fake::reset();
    script = Script();
    std::string tensors = R"({"name":"x","dtype":"float32","shape":["m"]})";
    std::string results = R"({"name":"y","dtype":"float32","shape":["m"]})";
    made = std::make_unique<TestModel>(
        oneFunction(tensors, results,
                    R"("cuda":["sm_80"],"kernels":["first","second"])"),
        std::vector<TenonFunctionImage>{{nullptr, nullptr, gpuCode, nullptr}},
        /*hasGpuCode=*/true);
    function = made->function("f");
  }
  TenonStatus call() { return run(function, {&x.dl}, {&y.dl}); }
  const fake::Launch &last() { return gpu.launches[gpu.numLaunches - 1]; }
  int64_t lastToken() {
    return reinterpret_cast<int64_t>(last().firstArgument);
  }

  std::unique_ptr<TestModel> made;
  TenonFunction *function;
  Tensor x{{4}, kGpu0}, y{{4}, kGpu0};
  fake::State &gpu = fake::state();
};

} // namespace tenon::test

#endif // TENON_UNITTESTS_RUNTIME_PERSISTENTTEST_H
