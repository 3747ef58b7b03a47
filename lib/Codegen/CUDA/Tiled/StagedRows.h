//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp's accumulators, turned into rows through shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_STAGEDROWS_H
#define TENON_LIB_CODEGEN_CUDA_TILED_STAGEDROWS_H

#include "TiledFrame.h"

namespace mlir::tenon {

/// The warp's staging memory: 8 rows of `passColumns` f32. 16-byte chunk c of
/// row r lies at c ^ s(r) ^ (c / 8), with s so that neither the stores of
/// fragments (4 rows by 2 chunks at a time) nor the loads (8 chunks of a row,
/// neighbours or every other one) meet a bank twice.
class StagedRows {
public:
  /// `group`: which of the warp's groups of `passColumns` columns.
  StagedRows(TiledFrame &frame, unsigned group);

  /// Stores rows 8 * pass to 8 * pass + 7 of the warp's accumulators.
  void store(ValueRange accumulators, unsigned pass);
  /// Loads this thread's `lanes` elements of the pass's `step`-th rows.
  SmallVector<Value> load(unsigned step);

private:
  Value getSwizzle(Value row);
  Value getChunk(Value row, Value chunk);

  TiledFrame &frame;
  KernelBuilder &b;
  unsigned group;
  Value memory; ///< the warp's
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_STAGEDROWS_H
