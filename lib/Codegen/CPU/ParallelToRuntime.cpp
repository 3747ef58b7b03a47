//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-parallel-to-runtime: parallel loops become calls of tenonParallelFor.
//
//===----------------------------------------------------------------------===//

#include "LoopNest.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONPARALLELTORUNTIME
#include "tenon/Codegen/CPU/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// What the body of a parallel loop takes from outside.
struct Captures {
  SmallVector<Value> counts; ///< of iterations, for each dimension
  SmallVector<Operation *> constants;
  SmallVector<Value> values;
  LLVM::LLVMStructType type; ///< of a struct that holds `values`
};

class Outliner {
public:
  explicit Outliner(ModuleOp module)
      : module(module), symbols(module), converter(module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  LogicalResult outline(scf::ParallelOp op);

private:
  FailureOr<Captures> capture(OpBuilder &builder, scf::ParallelOp op);
  Value getField(OpBuilder &builder, Location loc, const Captures &captures,
                 Value context, int32_t field);
  Value storeCaptures(OpBuilder &builder, scf::ParallelOp op,
                      const Captures &captures);
  func::FuncOp emitBody(scf::ParallelOp op, const Captures &captures);
  void mapInductionVars(LoopNest nest, scf::ParallelOp op,
                        const Captures &captures, Value index,
                        IRMapping &mapping);
  LogicalResult emitCall(OpBuilder &builder, scf::ParallelOp op,
                         func::FuncOp body, const Captures &captures);

  ModuleOp module;
  SymbolTable symbols;
  LLVMTypeConverter converter;
  LLVM::LLVMPointerType pointer;
};
} // namespace

static Value castTo(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return UnrealizedConversionCastOp::create(builder, loc, type, value)
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Captured values
//===----------------------------------------------------------------------===//

/// Finds what the body and the loop's bounds need; emits the counts.
FailureOr<Captures> Outliner::capture(OpBuilder &builder, scf::ParallelOp op) {
  Captures captures;
  LoopNest nest{builder, op.getLoc()};
  llvm::SetVector<Value> used;
  for (auto [lower, upper, step] :
       llvm::zip(op.getLowerBound(), op.getUpperBound(), op.getStep())) {
    Value span = nest.sub(upper, lower);
    captures.counts.push_back(
        builder.createOrFold<arith::CeilDivSIOp>(op.getLoc(), span, step));
    used.insert_range(ValueRange{captures.counts.back(), lower, step});
  }
  getUsedValuesDefinedAbove(op.getRegion(), used);
  SmallVector<Type> fields;
  for (Value value : used) {
    if (matchPattern(value, m_Constant())) {
      captures.constants.push_back(value.getDefiningOp());
      continue;
    }
    captures.values.push_back(value);
    fields.push_back(converter.convertType(value.getType()));
    if (!fields.back())
      return op->emitOpError("uses a value of type ")
             << value.getType()
             << " from outside, which has no form in the LLVM dialect; compute "
                "it inside the loop";
  }
  captures.type = LLVM::LLVMStructType::getLiteral(module.getContext(), fields);
  return captures;
}

Value Outliner::getField(OpBuilder &builder, Location loc,
                         const Captures &captures, Value context,
                         int32_t field) {
  return LLVM::GEPOp::create(builder, loc, pointer, captures.type, context,
                             ArrayRef<LLVM::GEPArg>{0, field});
}

/// The context, filled; its memory is allocated once a call of the function.
Value Outliner::storeCaptures(OpBuilder &builder, scf::ParallelOp op,
                              const Captures &captures) {
  Location loc = op.getLoc();
  auto function = op->getParentOfType<FunctionOpInterface>();
  OpBuilder entry =
      OpBuilder::atBlockBegin(&function.getFunctionBody().front());
  Value one = LLVM::ConstantOp::create(entry, loc, entry.getI64Type(), 1);
  Value context =
      LLVM::AllocaOp::create(entry, loc, pointer, captures.type, one);
  for (auto [index, value] : llvm::enumerate(captures.values))
    LLVM::StoreOp::create(
        builder, loc,
        castTo(builder, loc, value, captures.type.getBody()[index]),
        getField(builder, loc, captures, context, index));
  return context;
}

//===----------------------------------------------------------------------===//
// The body's function and its call
//===----------------------------------------------------------------------===//

/// Maps induction variables to those of iteration `index`, the last dimension
/// running fastest.
void Outliner::mapInductionVars(LoopNest nest, scf::ParallelOp op,
                                const Captures &captures, Value index,
                                IRMapping &mapping) {
  Value rest = index;
  for (size_t dim = captures.counts.size(); dim-- > 0;) {
    Value position = rest;
    if (dim != 0) {
      Value count = mapping.lookup(captures.counts[dim]);
      position = arith::RemUIOp::create(nest.builder, nest.loc, rest, count);
      rest = arith::DivUIOp::create(nest.builder, nest.loc, rest, count);
    }
    Value step = mapping.lookup(op.getStep()[dim]);
    Value offset =
        nest.builder.createOrFold<arith::MulIOp>(nest.loc, position, step);
    mapping.map(op.getInductionVars()[dim],
                nest.add(mapping.lookup(op.getLowerBound()[dim]), offset));
  }
}

/// A private function (index, context) that runs one iteration.
func::FuncOp Outliner::emitBody(scf::ParallelOp op, const Captures &captures) {
  Location loc = op.getLoc();
  OpBuilder builder(module.getContext());
  auto parent = op->getParentOfType<FunctionOpInterface>();
  auto function = func::FuncOp::create(
      loc, (parent.getName() + "_parallel").str(),
      builder.getFunctionType({builder.getI64Type(), pointer}, {}));
  function.setPrivate();
  // Two models in one process may have functions of one name.
  function->setAttr(
      "llvm.linkage",
      LLVM::LinkageAttr::get(builder.getContext(), LLVM::Linkage::Internal));
  symbols.insert(function, std::next(parent->getIterator()));
  builder.setInsertionPointToStart(function.addEntryBlock());
  IRMapping mapping;
  for (Operation *constant : captures.constants)
    builder.clone(*constant, mapping);
  for (auto [index, value] : llvm::enumerate(captures.values)) {
    Value field =
        getField(builder, loc, captures, function.getArgument(1), index);
    Value loaded = LLVM::LoadOp::create(builder, loc,
                                        captures.type.getBody()[index], field);
    mapping.map(value, castTo(builder, loc, loaded, value.getType()));
  }
  Value index = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           function.getArgument(0));
  mapInductionVars({builder, loc}, op, captures, index, mapping);
  for (Operation &inner : op.getBody()->without_terminator())
    builder.clone(inner, mapping);
  func::ReturnOp::create(builder, loc);
  return function;
}

LogicalResult Outliner::emitCall(OpBuilder &builder, scf::ParallelOp op,
                                 func::FuncOp body, const Captures &captures) {
  Location loc = op.getLoc();
  Value context = storeCaptures(builder, op, captures);
  Type i64 = builder.getI64Type();
  FailureOr<LLVM::LLVMFuncOp> callee = LLVM::lookupOrCreateFn(
      builder, module, "tenonParallelFor", {pointer, i64, pointer},
      LLVM::LLVMVoidType::get(builder.getContext()));
  if (failed(callee))
    return failure();
  Value count = captures.counts[0];
  for (Value extent : ArrayRef(captures.counts).drop_front())
    count = builder.createOrFold<arith::MulIOp>(loc, count, extent);
  count = arith::IndexCastOp::create(builder, loc, i64, count);
  Value function = func::ConstantOp::create(
      builder, loc, body.getFunctionType(), body.getName());
  LLVM::CallOp::create(
      builder, loc, *callee,
      ValueRange{castTo(builder, loc, function, pointer), count, context});
  return success();
}

LogicalResult Outliner::outline(scf::ParallelOp op) {
  if (op.getNumResults() != 0)
    return op->emitOpError("reduces a value, but the order of its iterations "
                           "is not fixed; reduce in a serial loop");
  OpBuilder builder(op);
  FailureOr<Captures> captures = capture(builder, op);
  if (failed(captures) ||
      failed(emitCall(builder, op, emitBody(op, *captures), *captures)))
    return failure();
  op.erase();
  return success();
}

namespace {
struct ParallelToRuntimePass
    : tenon::impl::TenonParallelToRuntimeBase<ParallelToRuntimePass> {
  void runOnOperation() override {
    SmallVector<scf::ParallelOp> outermost, inner;
    getOperation()->walk([&](scf::ParallelOp op) {
      (op->getParentOfType<scf::ParallelOp>() ? inner : outermost)
          .push_back(op);
    });
    // A nested call of the runtime would be serial too.
    IRRewriter rewriter(&getContext());
    for (scf::ParallelOp op : inner) {
      rewriter.setInsertionPoint(op);
      if (failed(scf::parallelForToNestedFors(rewriter, op)))
        return signalPassFailure();
    }
    Outliner outliner(getOperation());
    for (scf::ParallelOp op : outermost)
      if (failed(outliner.outline(op)))
        return signalPassFailure();
  }
};
} // namespace
