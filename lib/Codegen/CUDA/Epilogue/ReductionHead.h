//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The head of a kernel that follows a reduction.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EPILOGUE_REDUCTIONHEAD_H
#define TENON_LIB_CODEGEN_CUDA_EPILOGUE_REDUCTIONHEAD_H

#include "KernelFrame.h"

namespace mlir::tenon {

/// In the head of a kernel that applies `reduction`: combines `states`, ends
/// the reduction, and gives the emitter what each lane needs. `columnOutputs`
/// are the pointers to which group `writer` writes the op's per-column results;
/// null where not asked for.
void emitHead(KernelFrame &frame, ReductionEpilogueOp reduction,
              const StateBuffer &states, ArrayRef<Value> columnOutputs,
              ElementEmitter &emitter, int64_t writer = 0);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EPILOGUE_REDUCTIONHEAD_H
