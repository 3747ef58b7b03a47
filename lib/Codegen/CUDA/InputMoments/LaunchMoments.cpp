//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host's part of the moments of a product: three launches.
//
//===----------------------------------------------------------------------===//

#include "LaunchMoments.h"

#include "AddStatesKernel.h"
#include "ColumnMomentsKernel.h"
#include "GramKernel.h"

#include "AddStatesKernel.h"
#include "ColumnMomentsKernel.h"
#include "GramKernel.h"

#include "Codegen/CUDA/Emit/Constants.h"
#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Emit/HostValues.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
class ProductMomentsLowering {
public:
  ProductMomentsLowering(ProductMomentsOp op, gpu::GPUModuleOp module,
                         SmallVectorImpl<Attribute> &kernels)
      : op(op), module(module), kernels(kernels), b(op.getLoc(), op) {
    auto w = cast<MemRefType>(op.getW().getType());
    geometry = {w.getDimSize(0), w.getDimSize(1), w.getElementType()};
  }

  void run();

private:
  using Emitter = LLVM::LLVMFuncOp(gpu::GPUModuleOp, StringRef, Location,
                                   const MomentsGeometry &);

  void launch(StringRef kind, Emitter *emit, Value blocks, int64_t threads,
              ArrayRef<Value> arguments);

  ProductMomentsOp op;
  gpu::GPUModuleOp module;
  SmallVectorImpl<Attribute> &kernels;
  ImplicitLocOpBuilder b;
  MomentsGeometry geometry;
  Value m, groups;
};
} // namespace

void ProductMomentsLowering::launch(StringRef kind, Emitter *emit, Value blocks,
                                    int64_t threads,
                                    ArrayRef<Value> arguments) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  std::string name =
      makeKernelName(module, (function.getName() + "_" + kind).str());
  LLVM::LLVMFuncOp kernel = emit(module, name, op.getLoc(), geometry);
  kernels.push_back(b.getStringAttr(name));
  SmallVector<Value> all(arguments);
  all.append({m, groups});
  createLaunch(b, kernel, blocks, threads, /*shared=*/Value(), all);
}

void ProductMomentsLowering::run() {
  const MomentsGeometry &g = geometry;
  m = createRowCount(b, op.getX());
  Value stages = emitCeilDiv(b, m, createI64(b, MomentsGeometry::kGramRows));
  groups = arith::MinSIOp::create(b, stages, createI64(b, g.maxGroups()));
  groups = arith::MaxSIOp::create(b, groups, createI64(b, 1));
  Type f64 = b.getF64Type();
  Value states = createTemporary(
      b, MemRefType::get({g.maxGroups(), g.stateElements()}, f64));
  Value state = createTemporary(b, MemRefType::get(g.stateElements(), f64));
  launch("gram", emitGramKernel,
         arith::MulIOp::create(b, groups, createI64(b, g.tiles())),
         32 * MomentsGeometry::kGramWarps, {op.getX(), states});
  launch("add_states", emitAddStatesKernel,
         createI64(b, g.stateElements() / MomentsGeometry::kElements),
         MomentsGeometry::kElements * MomentsGeometry::kParts, {states, state});
  SmallVector<Value> arguments{op.getX(), op.getW(), state};
  llvm::append_range(arguments, op.getOutputs());
  launch("column_moments", emitColumnMomentsKernel,
         createI64(b, llvm::divideCeil(g.n, g.rows())),
         32 * MomentsGeometry::kColumnWarps, arguments);
  op.erase();
}

LogicalResult tenon::lowerProductMoments(ProductMomentsOp op,
                                         gpu::GPUModuleOp module,
                                         SmallVectorImpl<Attribute> &kernels) {
  if (failed(checkBuffers(op)))
    return failure();
  ProductMomentsLowering(op, module, kernels).run();
  return success();
}
