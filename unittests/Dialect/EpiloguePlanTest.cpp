//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How an epilogue is cut into phases.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/Analysis/EpiloguePlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::tenon;

namespace {
class EpiloguePlanTest : public testing::Test {
protected:
  EpiloguePlanTest() { context.loadDialect<func::FuncDialect, TenonDialect>(); }

  /// The body of an epilogue with arguments %y [M, 8], %g and %h [8].
  Block *parse(StringRef ops, StringRef outputs) {
    std::string text = R"(
      func.func @f(%a: memref<?x8xf32>, %b: memref<8xf32>, %c: memref<8xf32>) {
        tenon.epilogue ins(%y = %a: memref<?x8xf32>, %g = %b: memref<8xf32>, %h = %c: memref<8xf32>)
            outs()" + outputs.str() +
                       ") {" + ops.str() + "} return }";
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    Block *body = nullptr;
    module->walk([&](EpilogueOp op) { body = op.getBody(); });
    return body;
  }

  static SmallVector<unsigned> numbers(ArrayRef<BlockArgument> arguments) {
    return llvm::map_to_vector(
        arguments, [](BlockArgument a) { return a.getArgNumber(); });
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr const char *kNorm = R"(
  tenon.batch_norm_training %0 weight(%g) : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
)";
using Numbers = SmallVector<unsigned>;
} // namespace

TEST_F(EpiloguePlanTest, MapIsOnePhase) {
  Block *body = parse(R"(
      %0 = tenon.add %y, %h : tensor<?x8xf32>, tensor<8xf32>
      %1 = tenon.relu %0 : tensor<?x8xf32>
      tenon.yield %1 : tensor<?x8xf32>)",
                      "%a: memref<?x8xf32>");
  FailureOr<EpiloguePlan> plan = EpiloguePlan::get(*body);
  ASSERT_TRUE(succeeded(plan));
  ASSERT_EQ(plan->getPhases().size(), 1u);
  const EpiloguePhase &phase = plan->getPhases()[0];
  EXPECT_EQ(phase.ops.size(), 2u);
  EXPECT_EQ(numbers(phase.operands), (Numbers{0, 2}));
  EXPECT_FALSE(phase.reduction);
  EXPECT_EQ(plan->getShape()[0], ShapedType::kDynamic);
  EXPECT_EQ(plan->getShape()[1], 8);
}

TEST_F(EpiloguePlanTest, ReductionEndsAPhase) {
  Block *body = parse(std::string(R"(
      %0 = tenon.add %y, %h : tensor<?x8xf32>, tensor<8xf32>
      %1 = )") + kNorm + R"(
      %2 = tenon.relu %1 : tensor<?x8xf32>
      tenon.yield %2 : tensor<?x8xf32>)",
                      "%a: memref<?x8xf32>");
  FailureOr<EpiloguePlan> plan = EpiloguePlan::get(*body);
  ASSERT_TRUE(succeeded(plan));
  ASSERT_EQ(plan->getPhases().size(), 2u);
  EpiloguePhase reduce = plan->getPhases()[0], map = plan->getPhases()[1];
  EXPECT_EQ(reduce.reduction->getName().getStringRef(),
            "tenon.batch_norm_training");
  EXPECT_EQ(reduce.ops.size(), 1u); // the sum; not the weight
  EXPECT_EQ(numbers(reduce.operands), (Numbers{0, 2}));
  EXPECT_TRUE(reduce.finished.empty());
  // The sum is computed anew.
  EXPECT_EQ(map.ops.size(), 3u);
  EXPECT_EQ(map.finished.size(), 1u);
  EXPECT_EQ(numbers(map.operands), (Numbers{0, 1, 2}));
}

TEST_F(EpiloguePlanTest, ReductionOfAReduction) {
  Block *body = parse(R"(
      %0 = tenon.batch_norm_training %y : (tensor<?x8xf32>) -> tensor<?x8xf32>
      %1 = tenon.batch_norm_training %0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
      tenon.yield %1 : tensor<?x8xf32>)",
                      "%a: memref<?x8xf32>");
  FailureOr<EpiloguePlan> plan = EpiloguePlan::get(*body);
  ASSERT_TRUE(succeeded(plan));
  ASSERT_EQ(plan->getPhases().size(), 3u);
  EXPECT_EQ(plan->getPhases()[1].finished.size(), 1u);
  EXPECT_EQ(plan->getPhases()[2].finished.size(), 2u);
}

TEST_F(EpiloguePlanTest, UnusedReductionHasNoPhase) {
  Block *body = parse(std::string(R"(
      %0 = tenon.relu %y : tensor<?x8xf32>
      %1 = )") + kNorm + R"(
      tenon.yield %0 : tensor<?x8xf32>)",
                      "%a: memref<?x8xf32>");
  FailureOr<EpiloguePlan> plan = EpiloguePlan::get(*body);
  ASSERT_TRUE(succeeded(plan));
  EXPECT_EQ(plan->getPhases().size(), 1u);
}

TEST_F(EpiloguePlanTest, ColumnResultsAreOnlyYielded) {
  Block *body = parse(R"(
      %0:3 = tenon.batch_norm_training %y running(%g, %h)
          : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>)
      %1 = tenon.add %0#0, %0#1 : tensor<?x8xf32>, tensor<8xf32>
      tenon.yield %1 : tensor<?x8xf32>)",
                      "%a: memref<?x8xf32>");
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  EXPECT_TRUE(failed(EpiloguePlan::get(*body)));
  EXPECT_NE(message.find("reads a per-column result"), std::string::npos);
}

TEST_F(EpiloguePlanTest, VariesByShape) {
  Type f32 = Float32Type::get(&context);
  auto type = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, f32);
  };
  EXPECT_TRUE(EpiloguePlan::variesByRow(type({ShapedType::kDynamic, 1})));
  EXPECT_FALSE(EpiloguePlan::variesByColumn(type({ShapedType::kDynamic, 1})));
  EXPECT_FALSE(EpiloguePlan::variesByRow(type({8})));
  EXPECT_TRUE(EpiloguePlan::variesByColumn(type({8})));
  EXPECT_FALSE(EpiloguePlan::variesByRow(type({1, 8})));
  EXPECT_FALSE(EpiloguePlan::variesByColumn(type({})));
}
