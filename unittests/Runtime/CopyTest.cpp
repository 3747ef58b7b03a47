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

std::string manifest() {
  return oneFunction(R"({"name":"x","dtype":"float32","shape":[4]})",
                     R"({"name":"y","dtype":"float32","shape":[4]})",
                     R"("cuda":["sm_80"],"kernels":[])");
}

class Copy : public testing::TestWithParam<DLDevice> {
protected:
  Copy() { fake::reset(); }
  TestModel made{manifest(), {{copyCode, nullptr, copyCode, nullptr}}, true};
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

INSTANTIATE_TEST_SUITE_P(Devices, Copy,
                         testing::Values(DLDevice{kDLCPU, 0}, kGpu0));
