//===- JitTest.cpp - Models compiled and called in one process ------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tenon/Pipelines/Jit.h"
#include "tenon/Pipelines/InitAll.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {

constexpr const char *kModel = R"(
  func.func @forward(%x: tensor<?x2xf32>, %w: tensor<3x2xf32>) -> tensor<?x3xf32> {
    %0 = tenon.linear %x, %w : (tensor<?x2xf32>, tensor<3x2xf32>) -> tensor<?x3xf32>
    %1 = tenon.relu %0 : tensor<?x3xf32>
    return %1 : tensor<?x3xf32>
  })";

DLTensor matrix(void *data, int64_t *shape, uint8_t bits) {
  return {data, {kDLCPU, 0}, 2, {kDLFloat, bits, 1}, shape, nullptr, 0};
}

class Jit : public testing::Test {
protected:
  Jit() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
  }

  std::unique_ptr<JitModel> compile(bool reference) {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(kModel, &context);
    CompileOptions options;
    options.reference = reference;
    FailureOr<CompiledModel> model = compileModel(*module, options);
    if (failed(model))
      return nullptr;
    auto jit = JitModel::create(std::move(*model));
    return jit ? std::move(*jit) : nullptr;
  }

  MLIRContext context;
};

} // namespace

TEST_F(Jit, ComputesWhatTheModelSays) {
  std::unique_ptr<JitModel> model = compile(/*reference=*/false);
  ASSERT_TRUE(model);
  TenonFunction *function;
  ASSERT_EQ(tenonModelFunction(model->get(), "forward", &function), TENON_OK);
  float x[] = {1, 2, 3, 4}, w[] = {1, 0, 0, 1, -1, -1}, y[6];
  int64_t xShape[] = {2, 2}, wShape[] = {3, 2}, yShape[] = {2, 3};
  DLTensor xt = matrix(x, xShape, 32), wt = matrix(w, wShape, 32),
           yt = matrix(y, yShape, 32);
  const DLTensor *inputs[] = {&xt, &wt};
  DLTensor *outputs[] = {&yt};
  size_t bytes;
  ASSERT_EQ(tenonFunctionWorkspaceSize(function, inputs, 2, &bytes), TENON_OK);
  std::vector<char> memory(bytes + 256);
  auto address = (reinterpret_cast<uintptr_t>(memory.data()) + 255) & ~255ull;
  ASSERT_EQ(tenonFunctionRun(function, inputs, 2, outputs, 1,
                             reinterpret_cast<void *>(address), bytes, nullptr),
            TENON_OK)
      << tenonLastError();
  EXPECT_EQ(std::vector<float>(y, y + 6),
            (std::vector<float>{1, 2, 0, 3, 4, 0}));
}

TEST_F(Jit, HasTheReferenceWhenAskedFor) {
  TenonFunction *function;
  std::unique_ptr<JitModel> without = compile(false), with = compile(true);
  ASSERT_TRUE(without && with);
  EXPECT_EQ(tenonModelFunction(without->get(), "forward_reference", &function),
            TENON_NOT_FOUND);
  EXPECT_EQ(tenonModelFunction(with->get(), "forward_reference", &function),
            TENON_OK);
}

TEST_F(Jit, TheSourceStaysAsItWas) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kModel, &context);
  std::string before, after;
  llvm::raw_string_ostream(before) << *module;
  CompileOptions options;
  options.reference = true;
  ASSERT_TRUE(succeeded(compileModel(*module, options)));
  llvm::raw_string_ostream(after) << *module;
  EXPECT_EQ(before, after);
}
