//===- CallTest.cpp - Calls on the CPU ------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

#include <atomic>
#include <thread>

using namespace tenon::test;

static int64_t seen[64];
static void *seenWorkspace;

/// Keeps the descriptors of x (rank 2), a rank-0 s and y.
static void keep(TenonCall *, void **descriptors, void *workspace) {
  auto words = [&](int i) { return static_cast<int64_t *>(descriptors[i]); };
  std::copy_n(words(0), 7, seen);
  std::copy_n(words(1), 3, seen + 7);
  std::copy_n(words(2), 7, seen + 10);
  seenWorkspace = workspace;
}

static std::string threeTensors() {
  return oneFunction(R"({"name":"x","dtype":"float32","shape":["m","n"]},
                        {"name":"s","dtype":"float32","shape":[]})",
                     R"({"name":"y","dtype":"float32","shape":["n","m"]})");
}

TEST(Call, DescribesTensorsAsMemrefs) {
  TestModel model(threeTensors(), {{keep, nullptr, nullptr, nullptr}});
  Tensor x({3, 5}), s({}), y({5, 3});
  x.dl.byte_offset = 0;
  s.dl.byte_offset = 8;
  ASSERT_WORKS(run(model.function("f"), {&x.dl, &s.dl}, {&y.dl},
                   reinterpret_cast<void *>(256), 1));
  auto address = [](const Tensor &tensor) {
    return reinterpret_cast<int64_t>(tensor.dl.data);
  };
  std::vector<int64_t> expected{address(x), address(x), 0, 3, 5, 5, 1};
  for (int64_t word : {address(s) + 8, address(s) + 8, int64_t(0)})
    expected.push_back(word);
  for (int64_t word : {address(y), address(y), int64_t(0), int64_t(5),
                       int64_t(3), int64_t(3), int64_t(1)})
    expected.push_back(word);
  EXPECT_EQ(std::vector<int64_t>(seen, seen + 17), expected);
  EXPECT_EQ(seenWorkspace, reinterpret_cast<void *>(256));
}

TEST(Call, AnOutputMayBeAnInput) {
  TestModel model(threeTensors(), {{keep, nullptr, nullptr, nullptr}});
  Tensor x({4, 4}), s({});
  EXPECT_WORKS(run(model.function("f"), {&x.dl, &s.dl}, {&x.dl}));
  EXPECT_EQ(seen[0], seen[10]);
}

TEST(Call, TheCountSeesTheLibrary) {
  if (TENON_TEST_UNDER_SANITIZER)
    GTEST_SKIP();
  TestModel model(threeTensors(), {{keep, nullptr, nullptr, nullptr}});
  TenonModel *other;
  int64_t before = allocationCount();
  ASSERT_WORKS(tenonModelFromImage(&model.image, &other));
  EXPECT_GT(allocationCount(), before);
  tenonModelClose(other);
}

TEST(Call, AllocatesNothing) {
  TestModel model(threeTensors(), {{keep, nullptr, nullptr, nullptr}});
  TenonFunction *function = model.function("f");
  Tensor x({3, 5}), s({}), y({5, 3});
  const DLTensor *inputs[] = {&x.dl, &s.dl};
  DLTensor *outputs[] = {&y.dl};
  for (int i = 0; i < 2; ++i) {
    int64_t before = allocationCount();
    EXPECT_WORKS(
        tenonFunctionRun(function, inputs, 2, outputs, 1, nullptr, 0, nullptr));
    EXPECT_EQ(allocationCount(), before);
  }
}

TEST(Call, TakesMoreTensorsThanTheStackHolds) {
  std::string inputs;
  const int count = 1200;
  for (int i = 0; i < count; ++i)
    inputs += std::string(i ? "," : "") +
              R"({"name":"x","dtype":"float32","shape":["m"]})";
  static int64_t sum;
  auto add = [](TenonCall *, void **descriptors, void *) {
    sum = 0;
    for (int i = 0; i < count; ++i)
      sum += static_cast<int64_t *>(descriptors[i])[3];
  };
  TestModel model(oneFunction(inputs, ""), {{add, nullptr, nullptr, nullptr}});
  Tensor x({7});
  ASSERT_WORKS(
      run(model.function("f"), std::vector<DLTensor *>(count, &x.dl), {}));
  EXPECT_EQ(sum, 7 * count);
}

static void addOne(TenonCall *, void **descriptors, void *) {
  auto *x = static_cast<int64_t *>(descriptors[0]);
  auto *y = static_cast<int64_t *>(descriptors[1]);
  for (int64_t i = 0; i < x[3]; ++i)
    reinterpret_cast<float *>(y[1])[i] =
        reinterpret_cast<const float *>(x[1])[i] + 1;
}

static std::string vectorToVector() {
  return oneFunction(R"({"name":"x","dtype":"float32","shape":["m"]})",
                     R"({"name":"y","dtype":"float32","shape":["m"]})");
}

TEST(Call, SeveralThreadsShareAModel) {
  TestModel model(vectorToVector(), {{addOne, nullptr, nullptr, nullptr}});
  TenonFunction *function = model.function("f");
  std::atomic<int> wrong{0};
  auto work = [&](int64_t size) {
    Tensor x({size}), y({size});
    for (int round = 0; round < 2000; ++round) {
      std::fill_n(x.floats(), size, round);
      if (run(function, {&x.dl}, {&y.dl}) || y.floats()[size - 1] != round + 1)
        ++wrong;
    }
  };
  std::thread first(work, 3), second(work, 100);
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Call, ErrorsBelongToTheirThread) {
  TestModel model(vectorToVector(), {{addOne, nullptr, nullptr, nullptr}});
  TenonFunction *function = model.function("f");
  EXPECT_NE(run(function, {}, {}), TENON_OK);
  std::string here = tenonLastError();
  std::thread([&] { EXPECT_STREQ(tenonLastError(), ""); }).join();
  EXPECT_EQ(tenonLastError(), here);
}

TEST(Call, GpuRequestsFromCpuCodeAreErrors) {
  auto launch = [](TenonCall *call, void **, void *) {
    tenonLaunchKernel(call, 0, 1, 1, 1, 1, 1, 1, 0, nullptr, 0);
    TenonBlasLtPlan plan{};
    tenonBlasLtRun(call, &plan, 1, nullptr, nullptr, nullptr, nullptr, nullptr,
                   nullptr, nullptr, nullptr);
  };
  TestModel model(vectorToVector(), {{launch, nullptr, nullptr, nullptr}});
  Tensor x({1}), y({1});
  EXPECT_FAILS(run(model.function("f"), {&x.dl}, {&y.dl}), TENON_UNSUPPORTED,
               "f: the model's CPU code asked for a kernel launch");
  auto launchPersistent = [](TenonCall *call, void **, void *) {
    TenonPersistentKernel kernel{0, 1, 1, 0, 0};
    tenonLaunchPersistent(call, &kernel, 1, 1, 0, nullptr, nullptr);
  };
  TestModel other(vectorToVector(),
                  {{launchPersistent, nullptr, nullptr, nullptr}});
  EXPECT_FAILS(run(other.function("f"), {&x.dl}, {&y.dl}), TENON_UNSUPPORTED,
               "f: the model's CPU code asked for a kernel launch");
}

TEST(Image, RunsByNumber) {
  // The registry keeps the image for good.
  static TestModel *model =
      new TestModel(vectorToVector(), {{addOne, nullptr, nullptr, nullptr}});
  Tensor x({2}), y({2});
  x.floats()[1] = 4;
  const DLTensor *inputs[] = {&x.dl};
  DLTensor *outputs[] = {&y.dl};
  auto call = [&](int32_t number) {
    return tenonImageRun(&model->image, number, inputs, 1, outputs, 1, nullptr,
                         0, nullptr);
  };
  EXPECT_WORKS(call(0));
  EXPECT_EQ(y.floats()[1], 5);
  int64_t before = allocationCount();
  EXPECT_WORKS(call(0));
  EXPECT_EQ(allocationCount(), before);
  size_t bytes = 1;
  EXPECT_WORKS(tenonImageWorkspaceSize(&model->image, 0, inputs, 1, &bytes));
  EXPECT_EQ(bytes, 0u);
  EXPECT_FAILS(call(1), TENON_NOT_FOUND, "has no function number 1; it has 1");
  EXPECT_FAILS(
      tenonImageRun(nullptr, 0, inputs, 1, outputs, 1, nullptr, 0, nullptr),
      TENON_INVALID_ARGUMENT, "null model image");
}
