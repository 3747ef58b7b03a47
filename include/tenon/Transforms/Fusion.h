//===- Fusion.h - What the fusion patterns share ----------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A *product* is a LinearLikeOp, `tenon.linear` or `tenon.fused_linear`; a
// *consumer* is an op that reads a result of one.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TRANSFORMS_FUSION_H
#define TENON_TRANSFORMS_FUSION_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Remarks/Reason.h"

namespace mlir::tenon {

/// Whether `value` is a product's result of shape [M, N]; the product's other
/// results are per column or per row.
bool isFullResult(Value value);

/// What keeps `consumer` out of the epilogue of `product`, as far as the two
/// ops and their types tell. Whether the other operands can be computed before
/// the product is found out by moving them.
std::optional<Reason> findObstacle(Operation *consumer, LinearLikeOp product);

/// What keeps `consumer`, which passed `findObstacle`, out: an operand that
/// cannot be computed before the product.
Reason describeLateOperand(Operation *consumer, Operation *product);

/// Moves `consumer` into the epilogue of the last product in its block that can
/// take it.
LogicalResult fuseIntoProduct(Operation *consumer, StringRef patternName,
                              RewriterBase &rewriter);

/// Moves elementwise ops that compute a full operand of `fused`, and nothing
/// else, into its region.
void fuseOperands(FusedLinearOp fused, RewriterBase &rewriter);

// Remarks. Each fusion is reported just before it happens, with the bytes of
// memory traffic that it saves.
void remarkFusedBias(LinearOp linear);
void remarkFused(Operation *consumer, Operation *product,
                 StringRef patternName);
void remarkFusedOperand(Operation *producer, FusedLinearOp fused);
/// Reports each consumer that is still outside at the end of fusion, with the
/// reason and the bytes still spent.
void remarkMissedFusions(Operation *function);

void populateFuseBiasPatterns(RewritePatternSet &patterns);
void populateFuseElementwisePatterns(RewritePatternSet &patterns);
void populateFuseReductionPatterns(RewritePatternSet &patterns);

} // namespace mlir::tenon

#endif // TENON_TRANSFORMS_FUSION_H
