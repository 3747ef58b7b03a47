//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What fusion reports: bytes, names, and the consumers left outside.
//
//===----------------------------------------------------------------------===//

#include "tenon/Transforms/Fusion.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tenon;

/// The line of a product, by which remarks name it; 0 where it is not known.
static unsigned getLine(Operation *product) {
  auto place = product->getLoc()->findInstanceOf<FileLineColLoc>();
  return place ? place.getLine() : 0;
}

static std::string describeProduct(Operation *product) {
  if (unsigned line = getLine(product))
    return "the linear of line " + std::to_string(line);
  return "the linear";
}

namespace {
/// Bytes through memory: of one row where M is dynamic, else all.
struct Traffic {
  uint64_t bytes = 0;
  bool perRow = false;

  std::string metricName(StringRef what) const {
    return ("Bytes" + what + (perRow ? "PerRow" : "")).str();
  }
};
} // namespace

/// Bytes of a value, `times` over.
static Traffic getTraffic(Value value, unsigned times) {
  auto type = cast<RankedTensorType>(value.getType());
  uint64_t row = type.getElementTypeBitWidth() / 8 * type.getDimSize(1);
  bool perRow = type.isDynamicDim(0);
  return {times * row * (perRow ? 1 : type.getDimSize(0)), perRow};
}

/// Bytes that pass between `product` and `consumer` unless they are fused: one
/// read of each [M, N] value, and one write where nothing else reads it.
static Traffic getTrafficBetween(Operation *product, Operation *consumer) {
  Traffic traffic;
  llvm::SmallSetVector<Value, 2> values(consumer->operand_begin(),
                                        consumer->operand_end());
  for (Value value : values) {
    if (value.getDefiningOp() != product || !isFullResult(value))
      continue;
    bool shared = llvm::any_of(
        value.getUsers(), [&](Operation *user) { return user != consumer; });
    Traffic part = getTraffic(value, shared ? 1 : 2);
    traffic = {traffic.bytes + part.bytes, part.perRow};
  }
  return traffic;
}

static remark::RemarkOpts optionsFor(Operation *op, StringRef name) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return remark::RemarkOpts::name(name)
      .category("tenon-fuse-epilogue")
      .function(function.getName());
}

/// Reports that `op` became a part of `product`.
static ValuedRemark remarkPart(Operation *op, Operation *product,
                               StringRef name) {
  ValuedRemark remark(remark::passed(op->getLoc(), optionsFor(op, name)));
  remark.set("product_line", getLine(product));
  return remark;
}

void tenon::remarkFusedBias(LinearOp linear) {
  // A product adds its own bias before it writes: nothing is saved.
  remarkPart(linear, linear, "FuseBias")
      << remark::add("bias fused into {0}", describeProduct(linear))
      << remark::metric("BytesSaved", 0);
}

void tenon::remarkFused(Operation *consumer, Operation *product,
                        StringRef patternName) {
  if (!consumer->getContext()->getRemarkEngine())
    return;
  Traffic saved = getTrafficBetween(product, consumer);
  remarkPart(consumer, product, patternName)
      << remark::add("{0} fused into {1}",
                     consumer->getName().getStringRef().str(),
                     describeProduct(product))
      << remark::metric(saved.metricName("Saved"), saved.bytes);
}

void tenon::remarkFusedOperand(Operation *producer, FusedLinearOp fused) {
  Traffic saved = getTraffic(producer->getResult(0), 2);
  remarkPart(producer, fused, "FuseOperand")
      << remark::add("{0} of an operand fused into {1}",
                     producer->getName().getStringRef().str(),
                     describeProduct(fused))
      << remark::metric(saved.metricName("Saved"), saved.bytes);
}

static void remarkMissed(Operation *consumer, LinearLikeOp product) {
  std::optional<Reason> obstacle = findObstacle(consumer, product);
  if (!obstacle)
    obstacle = describeLateOperand(consumer, product);
  Traffic spent = getTrafficBetween(product, consumer);
  StringRef name = stringifyReasonCode(obstacle->getCode());
  ValuedRemark(remark::missed(consumer->getLoc(), optionsFor(consumer, name)))
      << remark::add("{0} not fused into {1}",
                     consumer->getName().getStringRef().str(),
                     describeProduct(product))
      << *obstacle << remark::metric(spent.metricName("Spent"), spent.bytes);
}

void tenon::remarkMissedFusions(Operation *function) {
  if (!function->getContext()->getRemarkEngine())
    return;
  function->walk<WalkOrder::PreOrder>([](Operation *op) {
    // A product that reads a product, or a result that leaves the block, is
    // where an epilogue ends.
    if (isa<LinearLikeOp>(op))
      return WalkResult::skip();
    if (op->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    llvm::SmallSetVector<LinearLikeOp, 2> products;
    for (Value operand : op->getOperands())
      if (isFullResult(operand))
        products.insert(operand.getDefiningOp<LinearLikeOp>());
    for (LinearLikeOp product : products)
      remarkMissed(op, product);
    return WalkResult::advance();
  });
}
