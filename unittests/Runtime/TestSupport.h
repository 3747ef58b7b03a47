//===- TestSupport.h - Tensors and models for tests -------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_UNITTESTS_RUNTIME_TESTSUPPORT_H
#define TENON_UNITTESTS_RUNTIME_TESTSUPPORT_H

#include "tenon/Runtime/Runtime.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace tenon::test {

inline constexpr DLDevice kCpu{kDLCPU, 0};
inline constexpr DLDevice kGpu0{kDLCUDA, 0};
inline constexpr DLDevice kGpu1{kDLCUDA, 1};
inline constexpr DLDataType kF32{kDLFloat, 32, 1};
inline constexpr DLDataType kF16{kDLFloat, 16, 1};
inline constexpr DLDataType kBF16{kDLBfloat, 16, 1};
inline constexpr DLDataType kF64{kDLFloat, 64, 1};

/// A DLTensor with memory of its own, aligned to 256 bytes.
class Tensor {
public:
  explicit Tensor(std::vector<int64_t> extents, DLDevice device = kCpu,
                  DLDataType dtype = kF32);
  Tensor(const Tensor &) = delete;

  float *floats() { return static_cast<float *>(dl.data); }
  double *doubles() { return static_cast<double *>(dl.data); }
  void setStrides(std::vector<int64_t> values);

  DLTensor dl;

private:
  std::vector<int64_t> shape, strides;
  std::vector<char> storage;
};

/// A model of a hand-made image.
class TestModel {
public:
  TestModel(std::string manifest, std::vector<TenonFunctionImage> functions,
            bool hasGpuCode = false, std::vector<float> parameters = {});
  ~TestModel() { tenonModelClose(model); }
  TestModel(const TestModel &) = delete;

  TenonFunction *function(const char *name);

  TenonModelImage image;
  TenonModel *model = nullptr;
  TenonStatus status;

private:
  std::string manifest;
  std::vector<TenonFunctionImage> functions;
  std::vector<float> parameters;
};

/// A model of one function, `f`, with these JSON arrays of tensors; `extra`
/// goes before "functions".
std::string oneFunction(const std::string &inputs, const std::string &outputs,
                        const std::string &extra = "\"kernels\":[]");

/// Calls with brace lists.
TenonStatus run(TenonFunction *function, std::vector<DLTensor *> inputs,
                std::vector<DLTensor *> outputs, void *workspace = nullptr,
                size_t workspaceBytes = 0, void *stream = nullptr);

/// Does the thread's last message contain `text`?
testing::AssertionResult lastErrorHas(const std::string &text);

// ThreadSanitizer has no threads after a fork.
#define TENON_TEST_UNDER_TSAN 0
// Sanitizers have a malloc of their own.
#define TENON_TEST_UNDER_SANITIZER 0
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef TENON_TEST_UNDER_TSAN
#define TENON_TEST_UNDER_TSAN 1
#endif
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#undef TENON_TEST_UNDER_SANITIZER
#define TENON_TEST_UNDER_SANITIZER 1
#endif
#endif

/// Calls of malloc in this thread so far; always 0 under sanitizers.
int64_t allocationCount();

} // namespace tenon::test

/// Expects a status and a piece of its message.
#define EXPECT_FAILS(call, expected, text)                                     \
  do {                                                                         \
    EXPECT_EQ(call, expected) << tenonLastError();                             \
    EXPECT_TRUE(::tenon::test::lastErrorHas(text));                            \
  } while (false)

#define EXPECT_WORKS(call) EXPECT_EQ(call, TENON_OK) << tenonLastError()
#define ASSERT_WORKS(call) ASSERT_EQ(call, TENON_OK) << tenonLastError()

#endif // TENON_UNITTESTS_RUNTIME_TESTSUPPORT_H
