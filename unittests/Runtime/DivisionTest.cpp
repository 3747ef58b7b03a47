//===- DivisionTest.cpp - Functions in two parts --------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// y = x * s + b, of which s = w * w and r = w + b are prepared and b is read
// by both parts, as a caller sees it: in one call, and in two.
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

using namespace tenon::test;

static int numPrepared;

static float *vector(void **descriptors, int i) {
  return static_cast<float **>(descriptors[i])[1];
}
static int64_t rows(void **descriptors, int i) {
  return static_cast<int64_t *>(descriptors[i])[3];
}

/// Takes w and b, gives r and s.
static void prepare(TenonCall *, void **descriptors, void *workspace) {
  ++numPrepared;
  *static_cast<float *>(workspace) = 1;
  for (int64_t i = 0; i < rows(descriptors, 0); ++i) {
    float w = vector(descriptors, 0)[i];
    vector(descriptors, 2)[i] = w + *vector(descriptors, 1);
    vector(descriptors, 3)[i] = w * w;
  }
}
/// Takes x, b, r and s, gives y.
static void run(TenonCall *, void **descriptors, void *workspace) {
  *static_cast<float *>(workspace) = 2;
  for (int64_t i = 0; i < rows(descriptors, 0); ++i)
    vector(descriptors, 4)[i] =
        vector(descriptors, 0)[i] * vector(descriptors, 3)[i] +
        *vector(descriptors, 1);
}
static int64_t prepareWorkspace(void **) { return 512; }
static int64_t runWorkspace(void **) { return 64; }

static std::string tensor(std::string name, std::string shape,
                          std::string role = "") {
  return R"({"name":")" + name + R"(","dtype":"float32","shape":)" + shape +
         (role.empty() ? "" : R"(,"role":")" + role + '"') + "}";
}

/// The author wrote forward(b, x, w).
static std::string manifest() {
  std::string x = tensor("x", R"(["m",1])", "activation");
  std::string w = tensor("w", R"(["m",1])", "param");
  std::string b = tensor("b", "[]", "param"), y = tensor("y", R"(["m",1])");
  return R"({"name":"divided","functions":[{"name":"forward_prepare","inputs":[)" +
         w + "," + b + R"(],"outputs":[)" + tensor("y0", R"(["m",1])") + "," +
         tensor("y1", R"(["m",1])") + R"(]},{"name":"forward_run","inputs":[)" +
         x + "," + b + "," + tensor("prepared2", R"(["m",1])", "prepared") +
         "," + tensor("prepared3", R"(["m",1])", "prepared") +
         R"(],"outputs":[)" + y +
         R"(]}],"entries":[{"name":"forward","inputs":["b","x","w"],)" +
         R"("prepare":"forward_prepare","run":"forward_run","signature":)" +
         R"({"name":"forward","inputs":[)" + b + "," + x + "," + w +
         R"(],"outputs":[)" + y + "]}}]}";
}

/// Never destroyed: the runtime keeps what is called by its image.
static TestModel &theModel() {
  static auto *model =
      new TestModel(manifest(), {{prepare, prepareWorkspace, nullptr, nullptr},
                                 {run, runWorkspace, nullptr, nullptr}});
  return *model;
}

namespace {
class Division : public testing::Test {
protected:
  Division() {
    numPrepared = 0;
    b.floats()[0] = 100;
    for (int i = 0; i < 3; ++i) {
      x.floats()[i] = 10;
      w.floats()[i] = static_cast<float>(i);
    }
  }
  void expectResult() {
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(y.floats()[i], 10.f * i * i + 100);
  }

  TestModel &made = theModel();
  Tensor b{{}}, x{{3, 1}}, w{{3, 1}}, y{{3, 1}}, memory{{4096}};
  const DLTensor *inputs[3] = {&b.dl, &x.dl, &w.dl};
  const DLTensor *parameters[2] = {&b.dl, &w.dl};
  DLTensor *outputs[1] = {&y.dl};
  void *workspace = memory.dl.data;
};
} // namespace

TEST_F(Division, IsOneFunction) {
  ASSERT_WORKS(made.status);
  TenonFunction *forward = made.function("forward");
  size_t bytes = 0;
  ASSERT_WORKS(tenonFunctionWorkspaceSize(forward, inputs, 3, &bytes));
  EXPECT_EQ(bytes, 2 * 256 + 512u); // r and s, then the larger workspace
  ASSERT_WORKS(tenonFunctionRun(forward, inputs, 3, outputs, 1, workspace,
                                bytes, nullptr));
  expectResult();
  EXPECT_FAILS(tenonFunctionRun(forward, inputs, 3, outputs, 1, workspace,
                                bytes - 1, nullptr),
               TENON_INVALID_ARGUMENT, "forward: a workspace of 1024 bytes");
  Tensor longer{{4, 1}};
  inputs[2] = &longer.dl;
  numPrepared = 0;
  EXPECT_FAILS(tenonFunctionRun(forward, inputs, 3, outputs, 1, workspace,
                                bytes, nullptr),
               TENON_INVALID_ARGUMENT, "forward: input 2 'w'");
  EXPECT_EQ(numPrepared, 0);
}

TEST_F(Division, IsTwoCallsForThoseWhoKeepWhatIsPrepared) {
  size_t prepared = 0, bytes = 0;
  constexpr int kNumber = 2; // behind the functions of the image
  ASSERT_WORKS(tenonImagePrepareWorkspaceSize(&made.image, kNumber, parameters,
                                              2, &prepared, &bytes));
  EXPECT_EQ(prepared, 2 * 256u);
  EXPECT_EQ(bytes, 512u);
  Tensor kept{{128}};
  ASSERT_WORKS(tenonImagePrepare(&made.image, kNumber, parameters, 2,
                                 kept.dl.data, prepared, workspace, bytes,
                                 nullptr));
  ASSERT_WORKS(tenonImageRunPreparedWorkspaceSize(&made.image, kNumber, inputs,
                                                  3, &bytes));
  EXPECT_EQ(bytes, 64u);
  for (int i = 0; i < 2; ++i) {
    y.floats()[1] = 0;
    ASSERT_WORKS(tenonImageRunPrepared(&made.image, kNumber, inputs, 3, outputs,
                                       1, kept.dl.data, prepared, workspace,
                                       bytes, nullptr));
    expectResult();
  }
  EXPECT_EQ(numPrepared, 1);
  EXPECT_FAILS(tenonImageRunPrepared(&made.image, kNumber, inputs, 3, outputs,
                                     1, kept.dl.data, prepared - 1, workspace,
                                     bytes, nullptr),
               TENON_INVALID_ARGUMENT,
               "forward: a prepared buffer of 512 bytes is needed");
  EXPECT_FAILS(tenonImagePrepare(&made.image, kNumber, inputs, 3, kept.dl.data,
                                 prepared, workspace, 512, nullptr),
               TENON_INVALID_ARGUMENT, "2 parameters expected, 3 given");
}

TEST_F(Division, OfNothingIsTheFunctionItself) {
  constexpr int kRun = 1; // no entry of the author's, but not divided either
  size_t prepared = 1, bytes = 1;
  ASSERT_WORKS(tenonImagePrepareWorkspaceSize(&made.image, kRun, parameters, 2,
                                              &prepared, &bytes));
  EXPECT_EQ(prepared, 0u);
  EXPECT_EQ(bytes, 0u);
  ASSERT_WORKS(tenonImagePrepare(&made.image, kRun, parameters, 2, nullptr, 0,
                                 nullptr, 0, nullptr));
  Tensor s{{3, 1}};
  for (int i = 0; i < 3; ++i)
    s.floats()[i] = static_cast<float>(i * i);
  const DLTensor *all[] = {&x.dl, &b.dl, &s.dl, &s.dl};
  ASSERT_WORKS(tenonImageRunPrepared(&made.image, kRun, all, 4, outputs, 1,
                                     nullptr, 0, workspace, 64, nullptr));
  expectResult();
}
