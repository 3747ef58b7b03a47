//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tiled kernel while it is built: its arguments, and where its thread stands.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_TILEDFRAME_H
#define TENON_LIB_CODEGEN_CUDA_TILED_TILEDFRAME_H

#include "Codegen/CUDA/Emit/KernelBuilder.h"
#include "Codegen/CUDA/Emit/RowPhases.h"
#include "TileGeometry.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tenon {

class TiledFrame;

/// An i32 that is the same in all threads of a warp, from one turn to the next:
/// in shared memory where registers are scarce in the main loop, as ptxas would
/// rather spill an accumulator, else in a register. TiledFrame::store changes
/// it.
class KeptScalar {
public:
  KeptScalar() = default;
  KeptScalar(TiledFrame &frame, unsigned index) : frame(&frame), index(index) {}
  KeptScalar(TiledFrame &frame, Value variable)
      : frame(&frame), variable(variable) {}

  Value load();
  bool isInRegister() const { return static_cast<bool>(variable); }

private:
  friend class TiledFrame;
  void store(Value value);

  TiledFrame *frame = nullptr;
  unsigned index = 0; ///< in shared memory
  Value variable;     ///< which LLVM makes a register; null in shared memory
};

/// Named barriers of a wgmma kernel's block; 0 is that of all its threads.
/// Where each warpgroup that multiplies has its own, the second has the next
/// number. kTileBarrier is of those who multiply a tile together: with
/// ping-pong each warpgroup has its own, so that kPanelBarrier, for kernels
/// whose tiles wait for each other, has another number.
inline constexpr int kTileBarrier = 1, kPanelBarrier = 2, kOrderBarrier = 3,
                     kWarpgroupBarrier = 5, kPingPongPanelBarrier = 7;

/// Opens a kernel. Its arguments are, in order: tensor maps (of a wgmma kernel,
/// Wgmma/TensorMaps.h), x, w, those of further terms, their factors (if the op
/// has them), the
/// epilogue's operands, the outputs, the workspace (if it has one), M and the
/// launch's token, both i64.
class TiledFrame {
public:
  TiledFrame(gpu::GPUModuleOp module, StringRef name, TiledLinearOp op,
             const TileGeometry &geometry, unsigned numTensorMaps);
  /// Ends the kernel.
  void close() { LLVM::ReturnOp::create(b, ValueRange()); }

  LLVM::LLVMFuncOp getFunction() { return function; }

  /// Finds out anew where the thread stands. What follows is then computed from
  /// registers that were not live before, rather than kept through a main loop
  /// that has none to spare.
  void computePlace();

  /// Of the threads that multiply a tile.
  void barrier();
  /// Of those of a warpgroup that multiplies, in a wgmma kernel.
  void warpgroupBarrier();
  void syncWarp();
  /// The thread of a warp whose `lane` is `number`, in an fma kernel, and the
  /// other way round.
  Value swapLaneBits(Value number);
  /// The first of the two columns that a lane holds of each 8 in a fragment, or
  /// rows with swapped operands.
  Value getLanePair() { return b.shiftLeft(b.bitAnd(lane, 3), 1); }
  /// What the lane has in `value` whose `lane` differs in the bits of `mask`.
  Value shuffleXor(Value value, int64_t mask);
  /// In shared memory.
  KeptScalar keep();
  /// In a register, where one is left: in a wgmma kernel without stream-K, with
  /// defer if a thread has columns of one block of wgmma's rows.
  KeptScalar keepForTurns();
  /// All lanes of a warp call this, with the same values.
  void store(ArrayRef<std::pair<KeptScalar, Value>> values);
  /// Emits `body` where `condition` holds.
  void emitIf(Value condition, llvm::function_ref<void()> body);
  /// TileGeometry::rowUnits(), of an M that may be dynamic.
  Value getRowUnits();

  KernelBuilder b;
  TileGeometry geometry;
  DenseMap<Value, Value> operands; ///< of the region's arguments
  SmallVector<Value> outputs;
  ArrayRef<RowPhase> rowPhases; ///< where rows are reduced
  /// Of arguments that are in registers: what the thread has of each of its
  /// rows of accumulators.
  DenseMap<Value, SmallVector<Value>> rowValues;
  SmallVector<Value> tensorMaps;
  Value x, workspace;
  SmallVector<Value> weights; ///< as many as the schedule says
  SmallVector<Value> factors; ///< of x's rows and of w's, or none
  Value m;                    // i32
  Value token;                // i64
  // i32. What works on tiles together is a cluster of blocks, or a block.
  Value unit, units;         ///< number of this one, how many there are
  Value rank;                ///< of the block in its cluster
  Value thread;              ///< among those that multiply a tile
  Value lane;                ///< where its accumulators lie in the warp's part
  Value warp;                ///< of the block
  Value tileWarp;            ///< among all that multiply
  Value warpgroup;           ///< of the block; of wgmma kernels
  Value warpRow, warpColumn; ///< the warp's first row, column of a tile
  Value shared;              ///< dynamic shared memory

private:
  friend class KeptScalar;
  void takeArguments(TiledLinearOp op, unsigned numTensorMaps);
  Value getSharedMemory(gpu::GPUModuleOp module);

  LLVM::LLVMFuncOp function;
  Value scalars; ///< the warp's
  unsigned numScalars = 0;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_TILEDFRAME_H
