//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names of the dynamic extents of a function's tensors.
//
//===----------------------------------------------------------------------===//

#include "DynamicExtents.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tenon;

static void *key(Value value) { return value.getAsOpaquePointer(); }

static bool isMatrix(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 2;
}

static bool isDynamic(Value value) {
  return isMatrix(value) &&
         cast<RankedTensorType>(value.getType()).isDynamicDim(0);
}

//===----------------------------------------------------------------------===//
// Classes of equal extents
//===----------------------------------------------------------------------===//

DynamicExtents::DynamicExtents(func::FuncOp function) : function(function) {
  function.walk([&](Operation *op) { add(op); });
  function.walk([&](tensor::CastOp op) {
    for (Value value : {op.getSource(), op.getResult()})
      if (isMatrix(value) && !isDynamic(value))
        known.try_emplace(
            getLeader(value),
            cast<RankedTensorType>(value.getType()).getDimSize(0));
  });
  for (BlockArgument argument : function.getArguments())
    if (isDynamic(argument)) {
      unite(argument);
      std::string name = names.empty() ? "m" : "m" + llvm::utostr(names.size());
      names.try_emplace(getLeader(argument), name);
    }
}

/// The tensor of whose first extent `size` is, or null.
static Value getOwner(OpFoldResult size) {
  auto value = dyn_cast<Value>(size);
  auto dim = value ? value.getDefiningOp<tensor::DimOp>() : nullptr;
  return dim && dim.getConstantIndex() == 0 && isDynamic(dim.getSource())
             ? dim.getSource()
             : Value();
}

void DynamicExtents::add(Operation *op) {
  if (isa_and_nonnull<TenonDialect>(op->getDialect()) ||
      op->hasTrait<OpTrait::Elementwise>()) {
    SmallVector<Value> values(op->getOperands());
    llvm::append_range(values, op->getResults());
    for (Region &region : op->getRegions())
      llvm::append_range(values, region.getArguments());
    llvm::erase_if(values, [](Value value) { return !isDynamic(value); });
    return unite(values);
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](tensor::CastOp cast) {
        if (isMatrix(cast.getSource()) && isMatrix(cast.getResult()))
          unite({cast.getSource(), cast.getResult()});
      })
      .Case([&](tensor::EmptyOp empty) {
        if (isDynamic(empty))
          uniteSize(empty, empty.getMixedSizes()[0]);
      })
      .Case([&](tensor::ExtractSliceOp slice) {
        if (isDynamic(slice))
          uniteSize(slice, slice.getMixedSizes()[0]);
      })
      .Case([&](tensor::InsertSliceOp insert) {
        if (isDynamic(insert))
          unite({insert.getDest(), insert.getResult()});
      })
      .Case([&](tensor::ConcatOp concat) {
        if (concat.getDim() == 0 && isDynamic(concat.getResult()))
          return computed.push_back(concat.getResult());
        SmallVector<Value> values(concat->getOperands());
        values.push_back(concat.getResult());
        llvm::erase_if(values, [](Value value) { return !isDynamic(value); });
        unite(values);
      })
      .Case([&](linalg::LinalgOp nest) { addLoops(nest); })
      .Default([&](Operation *) {
        llvm::copy_if(op->getResults(), std::back_inserter(computed),
                      isDynamic);
      });
}

/// What one loop runs over has one extent.
void DynamicExtents::addLoops(linalg::LinalgOp nest) {
  llvm::DenseMap<AffineExpr, Value> firsts;
  for (OpOperand &operand : nest->getOpOperands()) {
    if (!isDynamic(operand.get()))
      continue;
    AffineExpr rows = nest.getMatchingIndexingMap(&operand).getResult(0);
    Value first = firsts.try_emplace(rows, operand.get()).first->second;
    unite({first, operand.get()});
    if (nest.isDpsInit(&operand))
      unite({first, nest.getTiedOpResult(&operand)});
  }
}

void *DynamicExtents::getLeader(Value value) const {
  auto leader = classes.findLeader(key(value));
  return leader == classes.member_end() ? nullptr : *leader;
}

void DynamicExtents::unite(ValueRange values) {
  for (Value value : values)
    classes.unionSets(key(values.front()), key(value));
}

void DynamicExtents::uniteSize(Value result, OpFoldResult size) {
  if (Value owner = getOwner(size))
    unite({result, owner});
  else
    computed.push_back(result);
}

std::string DynamicExtents::lookup(Value value) const {
  return names.lookup(getLeader(value));
}

std::optional<int64_t> DynamicExtents::lookupStatic(Value value) const {
  auto found = known.find(getLeader(value));
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

//===----------------------------------------------------------------------===//
// What no caller can be told
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kRemedy =
    ", which no call of the model can check; give M a static extent";

/// A cast to another extent than the others have.
LogicalResult DynamicExtents::verifyCast(Operation *op) {
  for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                         llvm::to_vector(op->getResults()))) {
    std::optional<int64_t> extent = lookupStatic(value);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (extent && !type.isDynamicDim(0) && type.getDimSize(0) != *extent)
      return op->emitOpError("is of a tensor that elsewhere is cast to ")
             << *extent << " rows, and here to " << type.getDimSize(0);
  }
  return success();
}

/// Whether `size` is the extent of `value` in one dimension.
bool DynamicExtents::isExtent(OpFoldResult size, Value value,
                              int64_t dimension) const {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.isDynamicDim(dimension))
    return getConstantIntValue(size) == type.getDimSize(dimension);
  if (dimension != 0 || type.getRank() != 2)
    return false;
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return constant == lookupStatic(value);
  Value owner = getOwner(size);
  return owner && (owner == value ||
                   (getLeader(owner) && getLeader(owner) == getLeader(value)));
}

/// A slice lies within `sliced` if all of it is known, as its verifier sees to,
/// or if it is all there is.
template <typename SliceOp>
LogicalResult DynamicExtents::verifySlice(SliceOp op, Value sliced) {
  auto type = cast<RankedTensorType>(sliced.getType());
  for (auto [dimension, offset, size, stride] : llvm::enumerate(
           op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides())) {
    bool isKnown = getConstantIntValue(offset) && getConstantIntValue(size) &&
                   getConstantIntValue(stride) && !type.isDynamicDim(dimension);
    bool isAll = isZeroInteger(offset) && isOneInteger(stride) &&
                 isExtent(size, sliced, dimension);
    if (!isKnown && !isAll)
      return op.emitOpError("takes a part of dimension ")
             << dimension << " of " << type << " that it may not have"
             << kRemedy;
  }
  return success();
}

/// An M that is computed may meet no other.
LogicalResult DynamicExtents::verifyNew(Operation *op) {
  for (Value value : op->getResults()) {
    if (!llvm::is_contained(computed, value))
      continue;
    void *leader = getLeader(value);
    auto meets = [&](Value other) {
      return other != value && getLeader(other) == leader;
    };
    if (leader && (names.contains(leader) || known.contains(leader) ||
                   llvm::any_of(computed, meets)))
      return op->emitOpError("computes an extent that must be that of other "
                             "tensors")
             << kRemedy;
  }
  return success();
}

LogicalResult DynamicExtents::verify() {
  WalkResult result = function.walk([&](Operation *op) -> WalkResult {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](tensor::CastOp cast) { return verifyCast(cast); })
        .Case([&](tensor::ExtractSliceOp slice) {
          return failed(verifySlice(slice, slice.getSource()))
                     ? failure()
                     : verifyNew(slice);
        })
        .Case([&](tensor::InsertSliceOp insert) -> LogicalResult {
          Value source = insert.getSource();
          if (isDynamic(source) &&
              !isExtent(insert.getMixedSizes()[0], source, 0))
            return insert.emitOpError("has another size than its source may "
                                      "have")
                   << kRemedy;
          return verifySlice(insert, insert.getDest());
        })
        .Default([&](Operation *) { return verifyNew(op); });
  });
  return failure(result.wasInterrupted());
}
