//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_RESIDENTPROBLEM_H
#define TENON_LIB_CODEGEN_CUDA_TILED_RESIDENTPROBLEM_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// Says why no kernel reduces the region of `op` so; "" if one does.

std::string findResidentProblem(TiledLinearOp op);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_RESIDENTPROBLEM_H
