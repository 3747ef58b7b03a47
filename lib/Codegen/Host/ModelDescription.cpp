//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the description of functions and their tensors off the IR.
//
//===----------------------------------------------------------------------===//

#include "DynamicExtents.h"

#include "tenon/Codegen/Host/ModelDescription.h"

#include "tenon/Codegen/DataType.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Tensors and functions
//===----------------------------------------------------------------------===//

static FailureOr<TensorDescription> describeTensor(func::FuncOp function,
                                                   Value value, Twine what,
                                                   DynamicExtents &extents) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  const TenonDataType *dtype =
      type ? findDataType(type.getElementType()) : nullptr;
  if (!dtype || type.getRank() > 2)
    return function.emitOpError()
           << what << " must be a tensor of rank 0 to 2 of "
           << listTenonDataTypes(&TenonDataType::spelling, " or ")
           << ", but is " << value.getType();
  TensorDescription tensor;
  tensor.dtype = dtype->name;
  for (int64_t i = 0; i != type.getRank(); ++i) {
    if (!type.isDynamicDim(i)) {
      tensor.shape.emplace_back(type.getDimSize(i));
      continue;
    }
    if (i != 0 || type.getRank() != 2)
      return function.emitOpError()
             << what << " is " << type
             << ", but only M, the first extent of a matrix, may be dynamic";
    if (std::optional<int64_t> extent = extents.lookupStatic(value)) {
      tensor.shape.emplace_back(*extent);
      continue;
    }
    std::string name = extents.lookup(value);
    if (name.empty())
      return function.emitOpError() << what << " is " << type
                                    << ", but no input has its dynamic extent";
    tensor.shape.emplace_back(name);
  }
  return tensor;
}

static StringRef roleOf(DictionaryAttr attributes) {
  if (attributes && attributes.contains(TenonDialect::kParamAttr))
    return "param";
  if (attributes && attributes.contains(TenonDialect::kPreparedAttr))
    return "prepared";
  return "activation";
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Names become C's and files': usable, and each tensor's its own.
static LogicalResult checkNames(func::FuncOp function,
                                const FunctionDescription &description) {
  StringRef name = description.name;
  if (!isIdentifier(name) || name == "image" ||
      name.ends_with("_workspace_size"))
    return function.emitOpError()
           << "cannot be named '" << name << "': it becomes a C function MODEL_"
           << name << "; take another identifier";
  llvm::StringSet<> seen;
  for (const auto *tensors : {&description.inputs, &description.outputs})
    for (const TensorDescription &tensor : *tensors) {
      if (!isUsableName(tensor.name))
        return function.emitOpError()
               << "has a tensor named '" << tensor.name
               << "', which C cannot use; set 'tenon.name' to an identifier";
      if (!seen.insert(tensor.name).second)
        return function.emitOpError()
               << "has two tensors named '" << tensor.name
               << "'; set 'tenon.name' of one of them";
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Whether no target has code for `op`, which is of a dialect that models may
/// have.
static bool hasNoCode(Operation &op) {
  if (isa<arith::ScalingExtFOp, arith::ScalingTruncFOp, math::ClampFOp,
          math::FPowIOp, math::IPowIOp, math::IsInfOp, math::IsNormalOp,
          tensor::GatherOp, tensor::ScatterOp>(op))
    return true;
  return llvm::any_of(op.getResultTypes(), [](Type type) {
    Type element = getElementTypeOrSelf(type);
    return !findDataType(element) && !element.isIntOrIndex();
  });
}

/// Whether each loop of `nest` runs over the rows of dynamic matrices, or over
/// extents that are known.
static bool hasKnownExtents(linalg::LinalgOp nest) {
  llvm::SmallDenseMap<AffineExpr, bool> isDynamic;
  bool isStatic = llvm::all_of(nest->getOperandTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || tensor.hasStaticShape();
  });
  if (isStatic)
    return true;
  for (OpOperand &operand : nest->getOpOperands()) {
    auto tensor = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!tensor)
      continue;
    AffineMap map = nest.getMatchingIndexingMap(&operand);
    for (auto [dim, index] : llvm::enumerate(map.getResults())) {
      bool dynamic = tensor.isDynamicDim(dim);
      if (dynamic && (dim != 0 || tensor.getRank() != 2))
        return false;
      if (isa<AffineDimExpr>(index)
              ? isDynamic.try_emplace(index, dynamic).first->second != dynamic
              : dynamic || !isa<AffineConstantExpr>(index))
        return false;
    }
  }
  return true;
}

/// The number that a constant is.
static std::optional<int64_t> getInteger(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  return std::nullopt;
}

/// Whether a value in a body is at least 0 and below `extent`, as far as its
/// text says: loops, constants, and what is clamped between two.
static bool isWithin(Value index, int64_t extent, linalg::LinalgOp nest) {
  if (std::optional<int64_t> number = getInteger(index))
    return *number >= 0 && *number < extent;
  Operation *op = index.getDefiningOp();
  if (auto cast = dyn_cast_or_null<arith::IndexCastOp>(op))
    return isWithin(cast.getIn(), extent, nest);
  if (auto loop = dyn_cast_or_null<linalg::IndexOp>(op)) {
    int64_t count = nest.getStaticLoopRanges()[loop.getDim()];
    return !ShapedType::isDynamic(count) && count <= extent;
  }
  if (!isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(op) ||
      !getInteger(op->getOperand(1)) ||
      !isWithin(op->getOperand(1), extent, nest))
    return false;
  Operation *inner = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(inner) &&
         inner->getName() != op->getName() &&
         getInteger(inner->getOperand(1)) &&
         isWithin(inner->getOperand(1), extent, nest);
}

/// Whether the CPU has code for `inner`, of the body of `nest`.
static bool isBodyOp(Operation &inner, linalg::LinalgOp nest) {
  if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
    auto type = cast<RankedTensorType>(extract.getTensor().getType());
    return type.hasStaticShape() &&
           llvm::all_of(llvm::zip(extract.getIndices(), type.getShape()),
                        [&](auto indexAndExtent) {
                          auto [index, extent] = indexAndExtent;
                          return isWithin(index, extent, nest);
                        });
  }
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect,
                         linalg::LinalgDialect>(inner.getDialect());
}

/// Whether the CPU's loops compute `op`, of linalg, and read no other elements
/// than there are.
static bool isLoopNest(Operation &op) {
  auto nest = dyn_cast<linalg::LinalgOp>(op);
  return nest && nest.hasPureTensorSemantics() && hasKnownExtents(nest) &&
         llvm::all_of(*nest.getBlock(),
                      [&](Operation &inner) { return isBodyOp(inner, nest); });
}

/// Refuses what no target compiles, before a later pass trips over it.
static LogicalResult checkOps(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError(
        "has control flow; a model's function is one block of tenon ops");
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (isa<func::CallOp>(op))
      return op.emitOpError("calls a function, which a model cannot; inline it "
                            "(tenon-opt --inline)");
    Dialect *dialect = op.getDialect();
    if (!isa_and_nonnull<TenonDialect, arith::ArithDialect, math::MathDialect,
                         tensor::TensorDialect>(dialect) &&
        !isLoopNest(op))
      return op.emitOpError("cannot be compiled: a model is made of tenon ops, "
                            "and of arith, math and tensor ops; of linalg it "
                            "has, on the CPU, loops over tensors of which M "
                            "alone may be dynamic; an element that is looked "
                            "up must be known to be there: clamp its index "
                            "with constants (arith.maxsi, arith.minsi)");
    if (hasNoCode(op))
      return op.emitOpError("cannot be compiled: no target has code for it, or "
                            "for its type; write it with other ops");
  }
  return success();
}

static FailureOr<FunctionDescription> describeFunction(func::FuncOp function) {
  if (failed(checkOps(function)))
    return failure();
  DynamicExtents extents(function);
  if (failed(extents.verify()))
    return failure();
  FunctionDescription result;
  result.name = function.getName().str();
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto tensor = describeTensor(function, argument,
                                 "argument #" + Twine(index), extents);
    if (failed(tensor))
      return failure();
    DictionaryAttr attributes = function.getArgAttrDict(index);
    tensor->role = roleOf(attributes).str();
    tensor->name = getTensorName(
        attributes,
        (tensor->role == "prepared" ? "prepared" : "x") + Twine(index));
    result.inputs.push_back(std::move(*tensor));
  }
  llvm::StringSet<> given = getGivenNames(function);
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    auto tensor =
        describeTensor(function, value, "result #" + Twine(index), extents);
    if (failed(tensor))
      return failure();
    std::string name = "y" + std::to_string(index);
    while (given.contains(name) ||
           llvm::any_of(result.inputs, [&](const TensorDescription &input) {
             return input.name == name;
           }))
      name += "_out";
    tensor->name = getTensorName(function.getResultAttrDict(index), name);
    result.outputs.push_back(std::move(*tensor));
  }
  if (failed(checkNames(function, result)))
    return failure();
  return result;
}

/// A function with parameters has two more in C.
static LogicalResult checkParts(ModuleOp module,
                                const FunctionDescription &description) {
  auto function = module.lookupSymbol<func::FuncOp>(description.name);
  bool hasParts = llvm::any_of(description.inputs, [](const auto &input) {
    return input.role == "param";
  });
  if (!hasParts || function->hasAttr(TenonDialect::kPrepareAttr))
    return success();
  for (StringRef part : {"_prepare", "_run"})
    if (auto other =
            module.lookupSymbol<func::FuncOp>(description.name + part.str());
        other && other.isPublic())
      return other.emitOpError()
             << "has the name of the " << part.drop_front() << " function of '@"
             << description.name << "', which has parameters; rename one of "
             << "them";
  return success();
}

FailureOr<std::vector<FunctionDescription>>
tenon::describeFunctions(ModuleOp module) {
  std::vector<FunctionDescription> functions;
  for (Operation &op : module.getBody()->getOperations()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function || function.isDeclaration())
      return op.emitOpError("cannot be compiled: a model holds function "
                            "definitions only");
    if (function.isPrivate())
      continue;
    auto description = describeFunction(function);
    if (failed(description))
      return failure();
    functions.push_back(std::move(*description));
  }
  for (const FunctionDescription &function : functions)
    if (failed(checkParts(module, function)))
      return failure();
  if (functions.empty())
    return module.emitError("the model has no public function to compile");
  return functions;
}
