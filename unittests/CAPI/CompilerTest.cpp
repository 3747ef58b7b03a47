//===- CompilerTest.cpp - What the C interface compiles and refuses -------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

#include <cstring>
#include <sys/stat.h>

using namespace tenon::test;
using testing::Test;

static DLTensor matrix(float *data, int64_t *shape, int32_t dimensions) {
  return {data, {kDLCPU, 0}, dimensions, {kDLFloat, 32, 1}, shape, nullptr, 0};
}

static const char *const kSchedule =
    "mma_sync, tile = 64x128x32, warps = 2x2, stages = 3, swizzle = 128, "
    "raster = 4, blocks = 1";

/// The one error of `outcome`.
static Given errorOf(const Outcome &outcome) {
  EXPECT_EQ(outcome.status, TENON_INVALID_ARGUMENT);
  EXPECT_EQ(outcome.diagnostics.size(), 1u);
  if (outcome.diagnostics.empty())
    return {};
  EXPECT_EQ(outcome.diagnostics[0].severity, TENON_ERROR);
  EXPECT_FALSE(outcome.diagnostics[0].kind);
  return outcome.diagnostics[0];
}

TEST(Compile, MakesAModelThatRuns) {
  std::string path = temporaryPath("runs.so"), header = temporaryPath("runs.h");
  TenonCompileOptions options = {};
  options.name = "runs";
  Outcome outcome = compile(kModel, path, options, header.c_str());
  ASSERT_EQ(outcome.status, TENON_OK);
  EXPECT_TRUE(outcome.diagnostics.empty());
  EXPECT_NE(readFile(header).find("runs_forward"), std::string::npos);

  TenonModel *model;
  TenonFunction *function;
  ASSERT_EQ(tenonModelOpen(path.c_str(), &model), TENON_OK) << tenonLastError();
  ASSERT_EQ(tenonModelFunction(model, "forward", &function), TENON_OK);
  float x[] = {1, 2}, w[] = {1, 0, 0, 1, -1, -1}, b[] = {10, 20, 1}, y[3];
  int64_t one[] = {1, 2}, weight[] = {3, 2}, result[] = {1, 3};
  DLTensor tensors[] = {matrix(x, one, 2), matrix(w, weight, 2),
                        matrix(b, weight, 1), matrix(y, result, 2)};
  const DLTensor *inputs[] = {&tensors[0], &tensors[1], &tensors[2]};
  DLTensor *outputs[] = {&tensors[3]};
  ASSERT_EQ(
      tenonFunctionRun(function, inputs, 3, outputs, 1, nullptr, 0, nullptr),
      TENON_OK)
      << tenonLastError();
  EXPECT_EQ(y[0], 11);
  EXPECT_EQ(y[1], 22);
  EXPECT_EQ(y[2], 0);
  tenonModelClose(model);
}

TEST(Compile, TakesNullWhereItCan) {
  std::string path = temporaryPath("null.so");
  EXPECT_EQ(tenonCompile(kModel, strlen(kModel), nullptr, nullptr, path.c_str(),
                         nullptr, nullptr, nullptr),
            TENON_OK);
  EXPECT_EQ(tenonCompile("nonsense", 8, nullptr, nullptr, path.c_str(), nullptr,
                         nullptr, nullptr),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenonCompile(nullptr, 0, nullptr, nullptr, path.c_str(), nullptr,
                         nullptr, nullptr),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenonCompile(kModel, strlen(kModel), nullptr, nullptr, nullptr,
                         nullptr, nullptr, nullptr),
            TENON_INVALID_ARGUMENT);
}

TEST(Compile, SaysWhereTheSourceIsWrong) {
  std::string source = kModel;
  source.replace(source.find("tenon.relu"), 10, "tenon.rely");
  Given error = errorOf(compile(source, temporaryPath("wrong.so")));
  EXPECT_NE(error.message.find("tenon.rely"), std::string::npos);
  EXPECT_EQ(error.file, "model.mlir");
  EXPECT_EQ(error.line, 6);
  EXPECT_EQ(error.column, 8);
}

TEST(Compile, NotesFollowTheirError) {
  Outcome outcome = compile("func.func @f() { return }\n"
                            "func.func @f() { return }\n",
                            temporaryPath("notes.so"));
  ASSERT_EQ(outcome.status, TENON_INVALID_ARGUMENT);
  ASSERT_EQ(outcome.diagnostics.size(), 2u);
  EXPECT_EQ(outcome.diagnostics[0].severity, TENON_ERROR);
  EXPECT_EQ(outcome.diagnostics[0].line, 2);
  EXPECT_EQ(outcome.diagnostics[1].severity, TENON_NOTE);
  EXPECT_EQ(outcome.diagnostics[1].line, 1);
}

TEST(Compile, RefusesOptionsByName) {
  auto messageFor = [](const TenonCompileOptions &options) {
    return errorOf(compile(kModel, temporaryPath("options.so"), options))
        .message;
  };
  TenonCompileOptions name = {}, cpu = {}, target = {}, targets = {};
  name.name = "2x";
  EXPECT_EQ(messageFor(name).find("name='2x' is not a C identifier"), 0u);
  cpu.cpu = "z80";
  EXPECT_EQ(messageFor(cpu).find("cpu=z80 is not known"), 0u);
  const char *unknown[] = {"cpu", "sm_12"};
  target.targets = unknown;
  target.numTargets = 2;
  EXPECT_EQ(messageFor(target).find("target=sm_12 is not known"), 0u);
  targets.numTargets = 1;
  EXPECT_EQ(messageFor(targets), "the list of targets is null");
  TenonCompileOptions strategy = {}, schedule = {}, both = {}, reduction = {};
  reduction.reduction = "magic";
  EXPECT_EQ(messageFor(reduction).find("reduction=magic is not known"), 0u);
  strategy.strategy = "magic";
  EXPECT_EQ(messageFor(strategy),
            "strategy=magic is not known; expected auto, library or tiled");
  schedule.schedule = "magic";
  EXPECT_EQ(messageFor(schedule).find(
                "schedule=magic is not a schedule: 'magic' is not a family"),
            0u);
  both.strategy = "library";
  both.schedule = kSchedule;
  EXPECT_NE(messageFor(both).find("strategy=library leaves none"),
            std::string::npos);
}

TEST(Compile, LeavesNothingWhereItCannotWrite) {
  EXPECT_EQ(errorOf(compile(kModel, "/no/such/folder/model.so")).message,
            "cannot write '/no/such/folder/model.so': No such file or "
            "directory; make its folder");
  EXPECT_EQ(errorOf(compile(kModel, temporaryPath("header.so"), {},
                            "/no/such/folder/model.h"))
                .message,
            "cannot write '/no/such/folder/model.h': No such file or "
            "directory; make its folder");
  std::string folder = temporaryPath("folder");
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  EXPECT_NE(errorOf(compile(kModel, folder)).message.find("not a regular file"),
            std::string::npos);
}

TEST(Compile, GivesRemarksWhereTheyAreWanted) {
  TenonCompileOptions options = {};
  options.remarks = 1;
  Outcome outcome = compile(kModel, temporaryPath("remarks.so"), options);
  ASSERT_EQ(outcome.status, TENON_OK);
  ASSERT_EQ(outcome.diagnostics.size(), 2u);
  const Given &relu = outcome.diagnostics[1];
  EXPECT_EQ(relu.severity, TENON_REMARK);
  EXPECT_EQ(relu.message, "tenon.relu fused into the linear of line 4");
  EXPECT_EQ(relu.file, "model.mlir");
  EXPECT_EQ(relu.line, 6);
  EXPECT_EQ(relu.kind, "passed");
  EXPECT_EQ(relu.category, "tenon-fuse-epilogue");
  EXPECT_EQ(relu.name, "FuseElementwise");
  EXPECT_EQ(relu.function, "forward");
  EXPECT_EQ(relu.arguments,
            R"({"BytesSavedPerRow":24,)"
            R"("Remark":"tenon.relu fused into the linear of line 4",)"
            R"("Values":{"product_line":4}})");
}

TEST(Lower, StopsAfterAStage) {
  Outcome outcome = lower(kModel, "fuse");
  ASSERT_EQ(outcome.status, TENON_OK);
  EXPECT_NE(outcome.text.find("tenon.fused_linear"), std::string::npos);
  EXPECT_NE(outcome.text.find("%x"), std::string::npos);
  EXPECT_NE(lower(kModel, "cpu-llvm").text.find("llvm.func"),
            std::string::npos);
}

TEST(Lower, TakesAStrategyAndASchedule) {
  std::string source = kModel;
  source.insert(source.find("\n      : (tensor<?x2xf32>"), " precision<tf32>");
  const char *targets[] = {"sm_80"};
  TenonCompileOptions options = {};
  options.targets = targets;
  options.numTargets = 1;
  options.strategy = "tiled";
  options.schedule = kSchedule;
  Outcome tiled = lower(source, "strategy", options);
  ASSERT_EQ(tiled.status, TENON_OK);
  EXPECT_NE(tiled.text.find("#tenon.strategy<tiled>"), std::string::npos);
  EXPECT_NE(tiled.text.find("tile = 64x128x32"), std::string::npos);
  options.strategy = "library";
  options.schedule = nullptr;
  Outcome library = lower(source, "strategy", options);
  EXPECT_NE(library.text.find("#tenon.strategy<library>"), std::string::npos);
}

TEST(Lower, RefusesOtherStages) {
  EXPECT_EQ(errorOf(lower(kModel, "melt"))
                .message.find("stage=melt is not known; expected raise, "
                              "simplify, fuse, schedules, strategy, prepare"),
            0u);
  EXPECT_EQ(errorOf(lower(kModel, nullptr)).message.find("stage= is not"), 0u);
}
