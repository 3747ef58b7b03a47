//===- CopyTest.cpp - tenonCopy on both kinds of device -------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fakes.h"
#include "TestSupport.h"

using namespace tenon::test;

namespace {

/// y = x, as generated code copies: the aligned pointers of two descriptors.
void copyCode(TenonCall *call, void **descriptors, void *) {
  auto pointer = [&](int i) { return static_cast<void **>(descriptors[i])[1]; };
  tenonCopy(call, pointer(1), pointer(0), 4 * sizeof(float));
}

/// y = x[1, 1::2, 2:4] of x[2, 5, 6]; then the same with gaps between columns,
/// and nothing of an empty tensor.
void copyStridedCode(TenonCall *call, void **descriptors, void *) {
  auto pointer = [&](int i) {
    return static_cast<float *>(static_cast<void **>(descriptors[i])[1]);
  };
  int64_t rows[] = {1, 2, 2, /*target=*/4, 2, 1, /*source=*/30, 12, 1};
  tenonCopyStrided(call, pointer(1), pointer(0) + 38, sizeof(float), 3, rows);
  int64_t gaps[] = {2, 2, /*target=*/1, 2, /*source=*/12, 1};
  tenonCopyStrided(call, pointer(1) + 4, pointer(0) + 38, sizeof(float), 2,
                   gaps);
  int64_t none[] = {2, 0, /*target=*/1, 2, /*source=*/12, 1};
  tenonCopyStrided(call, nullptr, pointer(0), sizeof(float), 2, none);
}

std::string manifest(const char *x, const char *y) {
  auto describe = [](const char *name, const char *shape) {
    return std::string(R"({"name":")") + name +
           R"(","dtype":"float32","shape":[)" + shape + "]}";
  };
  return oneFunction(describe("x", x).c_str(), describe("y", y).c_str(),
                     R"("cuda":["sm_80"],"kernels":[])");
}

class Copy : public testing::TestWithParam<DLDevice> {
protected:
  Copy() { fake::reset(); }
  TestModel made{
      manifest("4", "4"), {{copyCode, nullptr, copyCode, nullptr}}, true};
};

} // namespace

TEST_P(Copy, CopiesAllBytes) {
  Tensor x{{4}, GetParam()}, y{{4}, GetParam()};
  auto *from = static_cast<float *>(x.dl.data);
  auto *to = static_cast<float *>(y.dl.data);
  for (int i = 0; i < 4; ++i)
    from[i] = static_cast<float>(i + 1);
  ASSERT_WORKS(run(made.function("f"), {&x.dl}, {&y.dl}));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(to[i], static_cast<float>(i + 1));
}

TEST_P(Copy, OneBufferForBothStaysAsItIs) {
  Tensor x{{4}, GetParam()};
  static_cast<float *>(x.dl.data)[3] = 7;
  ASSERT_WORKS(run(made.function("f"), {&x.dl}, {&x.dl}));
  EXPECT_EQ(static_cast<float *>(x.dl.data)[3], 7);
}

TEST_P(Copy, StridesAreKept) {
  TestModel strided{manifest("60", "8"),
                    {{copyStridedCode, nullptr, copyStridedCode, nullptr}},
                    true};
  Tensor x{{60}, GetParam()}, y{{8}, GetParam()};
  auto *from = static_cast<float *>(x.dl.data);
  auto *to = static_cast<float *>(y.dl.data);
  for (int i = 0; i < 60; ++i)
    from[i] = static_cast<float>(i);
  ASSERT_WORKS(run(strided.function("f"), {&x.dl}, {&y.dl}));
  EXPECT_EQ(std::vector<float>(to, to + 8),
            std::vector<float>({38, 39, 50, 51, 38, 50, 39, 51}));
}

INSTANTIATE_TEST_SUITE_P(Devices, Copy,
                         testing::Values(DLDevice{kDLCPU, 0}, kGpu0));
