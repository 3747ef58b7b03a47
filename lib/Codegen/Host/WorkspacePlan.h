//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_HOST_WORKSPACEPLAN_H
#define TENON_LIB_CODEGEN_HOST_WORKSPACEPLAN_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::tenon {

/// Which temporaries of a function share a slice of its workspace: those of one
/// type and size whose lives do not overlap.
///
/// `allocs` are in one block, in its order. Gives for each the number of its
/// slice; slices are numbered in the order in which they first occur.
SmallVector<unsigned> planWorkspace(ArrayRef<memref::AllocOp> allocs);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_HOST_WORKSPACEPLAN_H
