//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes float64 references of functions.
//
//===----------------------------------------------------------------------===//

#include "Reference.h"

#include "tenon/Codegen/Host/Passes.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONREFERENCE
#include "tenon/Codegen/Host/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

Type tenon::widenType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isa<FloatType>(tensor.getElementType()))
    return type;
  return tensor.clone(Float64Type::get(type.getContext()));
}

/// Widens a constant's value with its type.
static void widenConstant(arith::ConstantOp op) {
  auto value = dyn_cast<DenseFPElementsAttr>(op.getValue());
  if (!value)
    return;
  Type f64 = Float64Type::get(op.getContext());
  op.setValueAttr(value.mapValues(f64, [](const APFloat &element) {
    APFloat wide = element;
    bool inexact;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
    return wide.bitcastToAPInt();
  }));
}

/// Finds the ops that f64 has no counterpart of.
static LogicalResult checkWidens(func::FuncOp function) {
  WalkResult result = function.walk([](Operation *op) {
    if (isa<linalg::LinalgOp>(op)) {
      op->emitOpError("has no float64 reference, as no op of linalg has; "
                      "compile without --reference");
      return WalkResult::interrupt();
    }
    if (!isa<SplitOp, arith::BitcastOp, tensor::BitcastOp>(op))
      return WalkResult::advance();
    op->emitOpError("has no float64 reference, since every bit of its results "
                    "is that of f32; compile without --reference");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// There is none of f64.
bool tenon::isRounding(Operation *op) {
  return isa<CastOp, RoundTf32Op, arith::ExtFOp, arith::TruncFOp>(op) &&
         isa<RankedTensorType>(op->getOperand(0).getType());
}

void tenon::widenOp(Operation *op) {
  for (Value result : op->getResults())
    result.setType(widenType(result.getType()));
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      argument.setType(widenType(argument.getType()));
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    widenConstant(constant);
  if (auto linear = dyn_cast<LinearLikeOp>(op))
    linear.setPrecisionAttr({});
}

static void widenFunction(func::FuncOp function) {
  function.walk([&](Operation *op) {
    if (op == function)
      return;
    if (isRounding(op)) {
      op->replaceAllUsesWith(op->getOperands());
      op->erase();
      return;
    }
    widenOp(op);
  });
  OpBuilder builder(function.getContext());
  builder.setInsertionPointToStart(&function.getBody().front());
  for (BlockArgument argument : function.getArguments()) {
    Type wide = widenType(argument.getType());
    if (wide == argument.getType())
      continue;
    auto extended =
        arith::ExtFOp::create(builder, function.getLoc(), wide, argument);
    argument.replaceAllUsesExcept(extended, extended);
  }
  Operation *terminator = function.getBody().front().getTerminator();
  function.setType(FunctionType::get(function.getContext(),
                                     function.getArgumentTypes(),
                                     terminator->getOperandTypes()));
}

/// A name that no function has: with the suffix, and perhaps a '_' more.
static std::string makeName(StringRef function, StringRef suffix,
                            llvm::StringSet<> &taken) {
  std::string name = (function + suffix).str();
  while (!taken.insert(name).second)
    name += "_";
  return name;
}

/// Adds the bounds of `function` after it, if they are known.
static void addBounds(func::FuncOp function, llvm::StringSet<> &taken) {
  OpBuilder builder(function);
  builder.setInsertionPointAfter(function);
  auto bounds = cast<func::FuncOp>(builder.cloneWithoutRegions(*function));
  bounds.addEntryBlock();
  if (failed(buildBounds(function, bounds)))
    return bounds.erase();
  bounds.setName(makeName(function.getName(), "_bounds", taken));
  bounds.removeResAttrsAttr();
  bounds->setAttr(TenonDialect::kBoundsAttr, builder.getUnitAttr());
}

namespace {
struct TenonReference : tenon::impl::TenonReferenceBase<TenonReference> {
  using TenonReferenceBase::TenonReferenceBase;

  void runOnOperation() override {
    llvm::StringSet<> taken;
    for (auto symbol : getOperation().getOps<SymbolOpInterface>())
      taken.insert(symbol.getName());
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      if (function.isDeclaration() || function.isPrivate())
        continue;
      if (failed(checkWidens(function)))
        return signalPassFailure();
      if (bounds)
        addBounds(function, taken);
      function.setName(makeName(function.getName(), "_reference", taken));
      widenFunction(function);
    }
  }
};
} // namespace
