//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The thread that copies a warpgroup's subtiles between global and shared
// memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_SUBTILECOPIER_H
#define TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_SUBTILECOPIER_H

#include "SubtileCopies.h"

namespace mlir::tenon {

/// Follows the turns of one warpgroup: has TMA load the operands of a tile's
/// first subtiles when the warpgroup asks for them, and store each subtile that
/// it has released; reuses a buffer, or hands it back, when TMA has read it. A
/// few stores are under way at a time: one alone takes longer than the
/// warpgroup takes for a short epilogue.
class SubtileCopier {
public:
  /// Of warpgroup number `warpgroup`, from 1.
  SubtileCopier(TiledFrame &frame, WorkPartition &partition,
                SubtileCopies &copies, Value warpgroup)
      : frame(frame), b(frame.b), partition(partition), copies(copies),
        subtiles(copies.subtiles), warpgroup(warpgroup) {}

  /// To be run by one thread.
  void emit();

private:
  using Kind = SubtileCopies::Kind;
  Value getMap(unsigned index);
  Value getSlot(Value number);
  Value getBarrier(Kind kind, Value number);
  Value getParity(Value number, Value tiles);
  std::pair<Value, Value> getPlace(const WorkItem &item, Value number);
  Value getBox(const SubtileTensor &tensor, Value number, int64_t box);

  void load(const WorkItem &item, Value number);
  void loadIfAny(const WorkItem &item, Value number);
  void store(const WorkItem &item, Value number);
  void waitForReads(int64_t pending);
  void giveBack(const WorkItem &item, Value number);

  void emitLoop(int64_t count, llvm::function_ref<void(Value)> body);
  void copyTile(const WorkItem &item, Value tiles);

  TiledFrame &frame;
  KernelBuilder &b;
  WorkPartition &partition;
  SubtileCopies &copies;
  const EpilogueSubtiles &subtiles;
  Value warpgroup;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_WGMMA_SUBTILES_SUBTILECOPIER_H
