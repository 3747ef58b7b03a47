//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Refuses ops by name, before a later pass trips over what became of them.
//
//===----------------------------------------------------------------------===//

#include "GpuOps.h"

#include "tenon/Dialect/BlasLt/IR/BlasLt.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::tenon;

static bool isTensor(Type type) { return isa<TensorType>(type); }

/// Whether `op`, outside of epilogues, is the host's: extents, buffers, copies,
/// launches.
static bool isOfHost(Operation *op) {
  if (llvm::none_of(op->getOperandTypes(), isTensor) &&
      llvm::none_of(op->getResultTypes(), isTensor))
    return true;
  return isa<tensor::BitcastOp, tensor::CastOp, tensor::CollapseShapeOp,
             tensor::ConcatOp, tensor::DimOp, tensor::EmptyOp,
             tensor::ExpandShapeOp, tensor::ExtractSliceOp,
             tensor::InsertSliceOp, tensor::ReshapeOp, arith::ConstantOp,
             bufferization::AllocTensorOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>() ||
         isa_and_nonnull<TenonDialect, blaslt::BlasLtDialect>(op->getDialect());
}

/// Whether kernels have no code for `op`, which is elementwise.
static bool isMissingInKernels(Operation *op) {
  return isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp,
             math::ClampFOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp, math::CtPopOp, math::FPowIOp,
             math::IPowIOp, math::IsInfOp, math::IsNormalOp>(op);
}

LogicalResult tenon::checkGpuOps(FunctionOpInterface function) {
  WalkResult result = function.walk([](Operation *op) {
    bool isInEpilogue =
        isa_and_nonnull<TenonDialect>(op->getParentOp()->getDialect());
    if (isInEpilogue ? !isMissingInKernels(op) : isOfHost(op))
      return WalkResult::advance();
    op->emitOpError("cannot be computed on a GPU: kernels compute tenon ops, "
                    "and elementwise arith and math ops of tensors of floats "
                    "of rank 0 to 2; write it with those, compute it outside "
                    "of the model, or compile for --target=cpu alone");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
