//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel of tenon.scale_blocks, and its launch: each thread scales a few
// neighbouring elements at a time.
//
//===----------------------------------------------------------------------===//

#include "LaunchScaleBlocks.h"

#include "Codegen/CUDA/Emit/Constants.h"
#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Emit/HostValues.h"
#include "Codegen/CUDA/Emit/KernelBuilder.h"
#include "Codegen/CUDA/Emit/KernelFunction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::tenon;

static constexpr int64_t kThreads = 256;

/// Elements that a thread takes at a time: 16 bytes of the result.
static constexpr int64_t kLanes = 4;

/// Its arguments are x, scales and the result, the number of groups of `lanes`
/// elements, and that of blocks.
static LLVM::LLVMFuncOp emitKernel(ScaleBlocksOp op, gpu::GPUModuleOp module,
                                   StringRef name, unsigned lanes) {
  KernelBuilder b(op.getLoc(), op.getContext());
  auto type = cast<MemRefType>(op.getX().getType());
  int64_t k = type.getDimSize(1);
  auto columns = static_cast<int64_t>(op.getColumns());
  int64_t ofK = llvm::divideCeil(k, columns);
  auto ofBlocks = cast<MemRefType>(op.getScales().getType());
  LLVM::LLVMFuncOp function =
      createKernelFunction(b, module, name, /*numTensorMaps=*/0,
                           /*numPointers=*/3, kThreads);
  ValueRange arguments = function.getArguments();
  Value x = arguments[0], scales = arguments[1], result = arguments[2];
  Value groups = arguments[3], blocks = arguments[4];
  Value block = b.toI64(NVVM::BlockIdXOp::create(b, b.getI32Type()));
  Value thread = b.toI64(NVVM::ThreadIdXOp::create(b, b.getI32Type()));
  Value first = b.add(b.mul(block, kThreads), thread);
  scf::ForOp::create(
      b, first, groups, b.mul(blocks, kThreads), ValueRange(),
      [&](OpBuilder &, Location, Value group, ValueRange) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(group.getParentBlock());
        Value place = b.mul(group, lanes);
        Value row = b.div(b.div(place, k), op.getRows());
        Value column = b.div(b.rem(place, k), columns);
        Value ofBlock =
            ofBlocks.getRank() == 1 // column by column
                ? b.add(b.mul(column, ofBlocks.getDimSize(0) / ofK), row)
                : b.add(b.mul(row, ofK), column);
        Type f32 = b.getF32Type();
        Value scale = loadLanes(b, scales, ofBlock, f32, 1)[0];
        SmallVector<Value> elements =
            loadLanes(b, x, place, type.getElementType(), lanes);
        for (Value &element : elements)
          element = arith::MulFOp::create(b, element, scale);
        storeLanes(b, result, place, f32, elements);
        scf::YieldOp::create(b);
      });
  LLVM::ReturnOp::create(b, ValueRange());
  return function;
}

LogicalResult tenon::lowerScaleBlocks(ScaleBlocksOp op, gpu::GPUModuleOp module,
                                      SmallVectorImpl<Attribute> &kernels) {
  if (failed(checkBuffers(op)))
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), op);
  int64_t k = cast<MemRefType>(op.getX().getType()).getDimSize(1);
  Value elements =
      arith::MulIOp::create(b, createRowCount(b, op.getX()), createI64(b, k));
  auto launch = [&](unsigned lanes) {
    auto function = op->getParentOfType<FunctionOpInterface>();
    std::string name = makeKernelName(
        module, (function.getName() + "_scale_blocks_v" + Twine(lanes)).str());
    kernels.push_back(b.getStringAttr(name));
    LLVM::LLVMFuncOp kernel = emitKernel(op, module, name, lanes);
    Value groups = arith::DivUIOp::create(b, elements, createI64(b, lanes));
    Value blocks = arith::MinSIOp::create(
        b, emitCeilDiv(b, groups, createI64(b, kThreads)),
        createI64(b, std::numeric_limits<int32_t>::max()));
    SmallVector<Value> arguments = llvm::to_vector(op->getOperands());
    arguments.append({groups, blocks});
    createLaunch(b, kernel, blocks, kThreads, /*shared=*/Value(), arguments);
  };
  if (k % kLanes != 0 || op.getColumns() % kLanes != 0)
    launch(1);
  else
    emitIfAligned(
        b, {op.getX(), op.getOutput()}, [&] { launch(kLanes); },
        [&] { launch(1); });
  op.erase();
  return success();
}
