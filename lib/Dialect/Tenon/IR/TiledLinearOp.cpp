//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tiled linear op: verification, assembly, bufferization.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Building, queries
//===----------------------------------------------------------------------===//

void TiledLinearOp::build(OpBuilder & /*builder*/, OperationState &state,
                          Value x, Value w, ValueRange inputs,
                          ValueRange outputs, Value workspace,
                          ScheduleAttr schedule) {
  state.addOperands({x, w});
  state.addOperands(inputs);
  state.addOperands(outputs);
  if (workspace)
    state.addOperands(workspace);
  auto &properties = state.getOrAddProperties<Properties>();
  properties.schedule = schedule;
  properties.operandSegmentSizes = {1, 1, static_cast<int32_t>(inputs.size()),
                                    static_cast<int32_t>(outputs.size()),
                                    workspace ? 1 : 0};
  for (Type type : outputs.getTypes())
    if (isa<TensorType>(type))
      state.addTypes(type);
  state.addRegion();
}

YieldOp TiledLinearOp::getYield() {
  return cast<YieldOp>(getBody()->getTerminator());
}

bool TiledLinearOp::isOnTensors() { return isa<TensorType>(getX().getType()); }

void TiledLinearOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {}

LogicalResult TiledLinearOp::verify() { return success(); }
LogicalResult TiledLinearOp::verifyRegions() { return success(); }
void TiledLinearOp::print(OpAsmPrinter &printer) {}
ParseResult TiledLinearOp::parse(OpAsmParser &parser, OperationState &result) {
  return failure();
}
