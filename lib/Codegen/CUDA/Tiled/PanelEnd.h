//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_PANELEND_H
#define TENON_LIB_CODEGEN_CUDA_TILED_PANELEND_H

#include "PanelMemory.h"

namespace mlir::tenon {

/// The end of a panel: no tag may be left in its memory.
class PanelEnd {
public:
  PanelEnd(TiledFrame &frame, PanelMemory &memory, bool hasFinisher)
      : frame(frame), b(frame.b), memory(memory), hasFinisher(hasFinisher) {}

  /// Tells the warp beside: all threads that multiply call it when they have
  /// combined the last turn's states, or for a finisher each turn when they
  /// have stored the tile's.
  void arrive();
  /// That warp waits for it.
  void wait();
  /// Clears what the panel's blocks have left in the workspace after `turns`
  /// turns, if there were any. One warp beside those that multiply calls it,
  /// the finisher if there is one; where there is none beside them, one of them
  /// behind a barrier.
  void clear(Value turns);

  /// The two parts of that, in kernels without a warp beside: one thread says
  /// that the block has read all states of `turns` turns, and one warp of it
  /// clears what blocks leave that have said so.
  void announce(Value turns);
  void clearWhenRead(Value turns);

private:
  void emitForBlocks(llvm::function_ref<void(Value)> body);
  void waitForFlags(Value expected);
  void clearTile(llvm::function_ref<Value(Value, Value)> getPlace);
  void clearStates();

  TiledFrame &frame;
  KernelBuilder &b;
  PanelMemory &memory;
  bool hasFinisher;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_PANELEND_H
