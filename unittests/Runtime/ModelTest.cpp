//===- ModelTest.cpp - Opening models -------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

#include <cstring>
#include <fstream>

using namespace tenon::test;

static const char *const kX = R"({"name":"x","dtype":"float32","shape":["m"]})";

static void nothing(TenonCall *, void **, void *) {}
static const std::vector<TenonFunctionImage> kNothing = {
    {nothing, nullptr, nullptr, nullptr}};

TEST(Model, OpensAndRunsALibrary) {
  TenonModel *model;
  ASSERT_WORKS(tenonModelOpen(TENON_TEST_MODEL, &model));
  EXPECT_NE(strstr(tenonModelManifest(model), "\"twice\""), nullptr);
  EXPECT_WORKS(tenonModelLoad(model, kCpu));
  TenonFunction *function;
  ASSERT_WORKS(tenonModelFunction(model, "twice", &function));
  Tensor x({3, 4}), y({3, 4});
  for (int i = 0; i < 12; ++i)
    x.floats()[i] = i;
  ASSERT_WORKS(run(function, {&x.dl}, {&y.dl}));
  EXPECT_EQ(y.floats()[11], 22);
  tenonModelClose(model);
}

TEST(Model, NamesWhatIsWrongWithAFile) {
  TenonModel *model;
  EXPECT_FAILS(tenonModelOpen("/no/such/model.so", &model), TENON_NOT_FOUND,
               "cannot open model '/no/such/model.so'");
  EXPECT_EQ(model, nullptr);
  EXPECT_FAILS(tenonModelOpen(TENON_TEST_FAKES, &model), TENON_NOT_FOUND,
               "is not a compiled model: it has no symbol tenon_model_image");
  EXPECT_FAILS(tenonModelOpen(TENON_TEST_NEWER_MODEL, &model),
               TENON_UNSUPPORTED, "format version 1000");
  EXPECT_TRUE(lastErrorHas("install a newer Tenon"));
  EXPECT_FAILS(tenonModelOpen(nullptr, &model), TENON_INVALID_ARGUMENT,
               "null path");
  EXPECT_FAILS(tenonModelOpen(TENON_TEST_MODEL, nullptr),
               TENON_INVALID_ARGUMENT, "null model");
}

TEST(Model, RefusesAFileThatIsCutShort) {
  std::ifstream whole(TENON_TEST_MODEL, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  std::string path = testing::TempDir() + "cut.so";
  for (size_t size : {bytes.size() - 1, bytes.size() / 2, size_t(4096)}) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), size);
    TenonModel *model;
    EXPECT_FAILS(tenonModelOpen(path.c_str(), &model), TENON_NOT_FOUND,
                 "the file is cut short; compile or copy it again");
  }
}

TEST(Model, TakesNullWhereItCan) {
  tenonModelClose(nullptr);
  TenonModel *model;
  TenonFunction *function;
  EXPECT_FAILS(tenonModelFromImage(nullptr, &model), TENON_INVALID_ARGUMENT,
               "null image");
  EXPECT_FAILS(tenonModelFunction(nullptr, "f", &function),
               TENON_INVALID_ARGUMENT, "null model");
  EXPECT_FAILS(tenonModelLoad(nullptr, kCpu), TENON_INVALID_ARGUMENT,
               "null model");
  EXPECT_FAILS(run(nullptr, {}, {}), TENON_INVALID_ARGUMENT, "null function");
  size_t bytes;
  EXPECT_FAILS(tenonFunctionWorkspaceSize(nullptr, nullptr, 0, &bytes),
               TENON_INVALID_ARGUMENT, "null function");
  EXPECT_STREQ(tenonModelManifest(nullptr), "");
}

TEST(Model, ListsItsFunctionsWhenOneIsMissing) {
  TestModel model(oneFunction(kX, ""), kNothing);
  ASSERT_WORKS(model.status);
  TenonFunction *function;
  EXPECT_FAILS(tenonModelFunction(model.model, "g", &function), TENON_NOT_FOUND,
               "model 'test' has no function 'g'; it has: f");
  EXPECT_FAILS(tenonModelLoad(model.model, {kDLMetal, 0}),
               TENON_INVALID_ARGUMENT, "device type 8");
}

static void expectMalformed(const std::string &manifest,
                            const std::string &text) {
  TestModel model(manifest, kNothing);
  EXPECT_FAILS(model.status, TENON_INVALID_ARGUMENT, text);
  EXPECT_EQ(model.model, nullptr);
}

TEST(Manifest, NamesTheWrongField) {
  expectMalformed("{", "manifest is malformed");
  expectMalformed("{}", "manifest: field 'name' is missing");
  expectMalformed(R"({"name":1})", "name: a string expected, 1 given");
  expectMalformed(R"({"name":"a"})", "field 'functions' is missing");
  expectMalformed(R"({"name":"a","functions":{}})", "functions: an array");
  expectMalformed(R"({"name":"a","cpu":3,"functions":[]})",
                  "cpu: a string expected");
  expectMalformed(R"({"name":"a","functions":[{"name":"f"}]})",
                  "function 'f', inputs: field 'inputs' is missing");
  expectMalformed(oneFunction(R"({"name":"x","shape":[]})", ""),
                  "function 'f', inputs, 'x': field 'dtype' is missing");
  expectMalformed(oneFunction(R"({"name":"x","dtype":"int8","shape":[]})", ""),
                  "unknown dtype 'int8'");
  expectMalformed(
      oneFunction(R"({"name":"x","dtype":"float32","shape":[-1]})", ""),
      "a dimension is a name or an extent, -1 given");
  expectMalformed(
      oneFunction(kX, R"({"name":"y","dtype":"float32","shape":["k"]})"),
      "function 'f', outputs, 'y': dimension 'k' occurs in no input");
}

TEST(Manifest, LimitsNamesOfDimensions) {
  std::string shape;
  for (int i = 0; i < 17; ++i)
    shape += (i ? ",\"d" : "\"d") + std::to_string(i) + "\"";
  expectMalformed(
      oneFunction(R"({"name":"x","dtype":"float32","shape":[)" + shape + "]}",
                  ""),
      "more than 16 names");
}

TEST(Manifest, AgreesWithTheImage) {
  TestModel fewer(oneFunction(kX, ""), {});
  EXPECT_FAILS(fewer.status, TENON_INVALID_ARGUMENT,
               "its manifest lists 1 functions, its image has 0");
  TestModel kernels(oneFunction(kX, "", R"("kernels":["k"])"), kNothing);
  EXPECT_FAILS(kernels.status, TENON_INVALID_ARGUMENT,
               "lists 1 kernels, its image has no GPU code");
  expectMalformed(R"({"name":"a","functions":[],"entries":[{"run":"g"}]})",
                  "'g' is no function of the model");
  TenonModelImage empty = {
      kTenonImageVersion, 0, nullptr, nullptr, nullptr, 0, nullptr, 0};
  TenonModel *model;
  EXPECT_FAILS(tenonModelFromImage(&empty, &model), TENON_INVALID_ARGUMENT,
               "null manifest");
}

TEST(Cpu, RefusesALevelItLacks) {
  TestModel model(oneFunction(kX, "", R"("cpu":"x86-64-v9")"), kNothing);
  ASSERT_WORKS(model.status); // its GPU code may still be fine
  EXPECT_FAILS(tenonModelLoad(model.model, kCpu), TENON_UNSUPPORTED,
               "compiled for 'x86-64-v9'");
  Tensor x({2});
  EXPECT_FAILS(run(model.function("f"), {&x.dl}, {}), TENON_UNSUPPORTED,
               "f: its CPU code was compiled for 'x86-64-v9'");
}
