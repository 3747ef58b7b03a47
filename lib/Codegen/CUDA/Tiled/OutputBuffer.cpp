//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputBuffer.h"

using namespace mlir;
using namespace mlir::tenon;

Value tenon::findOutputBuffer(TiledLinearOp op, MemRefType type) {
  // An input [M, N] may be the buffer of an output.
  for (Value input : op.getInputs())
    if (cast<MemRefType>(input.getType()).getShape() == type.getShape())
      return Value();
  for (Value output : op.getOutputs())
    if (EpilogueOp::getTensorType(output.getType()) ==
        EpilogueOp::getTensorType(type))
      return output;
  return Value();
}
