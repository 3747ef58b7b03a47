//===- CheckTest.cpp - Wrong tensors and their messages -------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

using namespace tenon::test;

static int entered = 0;

static int64_t workspace(void **descriptors) {
  // Of x: {pointers, offset, sizes}. 64 bytes a row.
  return 64 * static_cast<int64_t *>(descriptors[0])[3];
}

namespace {

/// f(x[m, 8], w[4, 8], h[m] f16, b[4] bf16) -> y[m, 4] f64
class Check : public testing::Test {
protected:
  Check()
      : model(oneFunction(
                  R"({"name":"x","dtype":"float32","shape":["m",8]},
                     {"name":"w","dtype":"float32","shape":[4,8]},
                     {"name":"h","dtype":"float16","shape":["m"]},
                     {"name":"b","dtype":"bfloat16","shape":[4]})",
                  R"({"name":"y","dtype":"float64","shape":["m",4]})"),
              {{[](TenonCall *, void **, void *) { ++entered; }, workspace,
                nullptr, nullptr}}),
        function(model.function("f")) {
    entered = 0;
  }

  TenonStatus call() {
    return run(function, {&x.dl, &w.dl, &h.dl, &b.dl}, {&y.dl}, scratch.dl.data,
               workspaceBytes);
  }

  /// Expects a refusal before the model's code is entered.
  void refuses(const char *text) {
    EXPECT_FAILS(call(), TENON_INVALID_ARGUMENT, text);
    EXPECT_EQ(entered, 0);
  }

  TestModel model;
  TenonFunction *function;
  Tensor x{{2, 8}}, w{{4, 8}}, h{{2}, kCpu, kF16}, b{{4}, kCpu, kBF16};
  Tensor y{{2, 4}, kCpu, kF64}, scratch{{1024}};
  size_t workspaceBytes = 4096;
};

} // namespace

TEST_F(Check, AcceptsWhatFits) {
  EXPECT_WORKS(call());
  EXPECT_EQ(entered, 1);
}

TEST_F(Check, Count) {
  EXPECT_FAILS(run(function, {&x.dl}, {&y.dl}), TENON_INVALID_ARGUMENT,
               "f: 4 inputs expected (x, w, h, b), 1 given");
  EXPECT_FAILS(run(function, {&x.dl, &w.dl, &h.dl, &b.dl}, {}),
               TENON_INVALID_ARGUMENT, "f: 1 outputs expected (y), 0 given");
  EXPECT_FAILS(
      tenonFunctionRun(function, nullptr, 4, nullptr, 1, nullptr, 0, nullptr),
      TENON_INVALID_ARGUMENT, "the array of inputs is null");
  EXPECT_FAILS(run(function, {&x.dl, nullptr, &h.dl, &b.dl}, {&y.dl}),
               TENON_INVALID_ARGUMENT, "f: input 1 'w': null DLTensor");
}

TEST_F(Check, Device) {
  w.dl.device = kGpu0;
  refuses("f: input 1 'w': on device (2, 0), but the tensors before it are on "
          "(1, 0)");
  x.dl.device = h.dl.device = b.dl.device = y.dl.device = kGpu0;
  w.dl.device = kGpu1;
  refuses("input 1 'w': on device (2, 1)");
  x.dl.device = {kDLVulkan, 0};
  refuses("input 0 'x': device type 7");
}

TEST_F(Check, DType) {
  w.dl.dtype = kF64;
  refuses("f: input 1 'w': float32 expected, float64 given");
  w.dl.dtype = {kDLInt, 32, 1};
  refuses("float32 expected, int32 given");
  w.dl.dtype = {kDLFloat, 32, 4};
  refuses("float32 expected, float32x4 given");
  w.dl.dtype = kF32;
  b.dl.dtype = kF16;
  refuses("input 3 'b': bfloat16 expected, float16 given");
  b.dl.dtype = kBF16;
  y.dl.dtype = kF32;
  refuses("output 0 'y': float64 expected, float32 given");
}

TEST_F(Check, Shape) {
  w.dl.shape[0] = 5;
  refuses("f: input 1 'w': shape [4, 8] expected, [5, 8] given");
  w.dl.shape[0] = 4;
  x.dl.ndim = 1;
  refuses("input 0 'x': shape [m, 8] expected, [2] given");
  x.dl.ndim = 2;
  x.dl.shape[0] = -1;
  refuses("shape [m, 8] expected, [-1, 8] given");
  x.dl.shape[0] = INT64_MAX / 2;
  refuses("is too large");
  x.dl.shape = nullptr;
  refuses("null shape");
}

TEST_F(Check, DynamicDimensionsAgree) {
  h.dl.shape[0] = 3;
  refuses("f: input 2 'h': dimension 0 is 'm' and has extent 3, but dimension "
          "0 of input 'x' made it 2");
  h.dl.shape[0] = 2;
  y.dl.shape[0] = 1;
  refuses("output 0 'y': dimension 0 is 'm' and has extent 1");
}

TEST_F(Check, Contiguity) {
  x.setStrides({8, 1});
  EXPECT_WORKS(call());
  entered = 0;
  x.setStrides({16, 1});
  refuses("input 0 'x': not contiguous: dimension 0 of shape [2, 8] has stride "
          "16, 8 expected");
  x.setStrides({1, 2});
  refuses("dimension 1 of shape [2, 8] has stride 2, 1 expected");
}

TEST_F(Check, IgnoresStridesThatNothingUses) {
  x.dl.shape[0] = h.dl.shape[0] = y.dl.shape[0] = 1;
  x.setStrides({12345, 1});
  EXPECT_WORKS(call());
  x.dl.shape[0] = h.dl.shape[0] = y.dl.shape[0] = 0;
  x.setStrides({7, 7});
  x.dl.data = h.dl.data = y.dl.data = nullptr;
  EXPECT_WORKS(call());
  EXPECT_EQ(entered, 2);
}

TEST_F(Check, Data) {
  x.dl.byte_offset = 2;
  refuses("which is not aligned to the 4 bytes of a float32");
  x.dl.byte_offset = 0;
  y.dl.data = nullptr;
  refuses("output 0 'y': data is null, but shape [2, 4] has elements");
}

TEST_F(Check, Workspace) {
  workspaceBytes = 127;
  refuses("f: a workspace of 128 bytes is needed, 127 given");
  workspaceBytes = 128;
  EXPECT_WORKS(call());
  entered = 0;
  auto *aligned = static_cast<char *>(scratch.dl.data);
  scratch.dl.data = aligned + 64;
  refuses("not aligned to 256 bytes");
  scratch.dl.data = nullptr;
  refuses("f: the workspace is null, but 128 bytes of it are needed");
}

TEST_F(Check, WorkspaceSizeReadsShapesOnly) {
  x.dl.data = w.dl.data = h.dl.data = b.dl.data = nullptr;
  std::vector<const DLTensor *> inputs{&x.dl, &w.dl, &h.dl, &b.dl};
  size_t bytes = 0;
  EXPECT_WORKS(tenonFunctionWorkspaceSize(function, inputs.data(), 4, &bytes));
  EXPECT_EQ(bytes, 128u);
  h.dl.shape[0] = 3;
  EXPECT_FAILS(tenonFunctionWorkspaceSize(function, inputs.data(), 4, &bytes),
               TENON_INVALID_ARGUMENT, "dimension 0 is 'm'");
  EXPECT_EQ(bytes, 0u);
  EXPECT_FAILS(tenonFunctionWorkspaceSize(function, inputs.data(), 4, nullptr),
               TENON_INVALID_ARGUMENT, "null bytes");
}

TEST_F(Check, MissingCode) {
  for (Tensor *tensor : {&x, &w, &h, &b, &y})
    tensor->dl.device = kGpu0;
  EXPECT_FAILS(call(), TENON_UNSUPPORTED,
               "f: model 'test' has no GPU code: it was compiled for the CPU; "
               "compile it with tenon-compile --target=");
}
