//===- KernelFrame.h - What every epilogue kernel begins with --*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EPILOGUE_KERNELFRAME_H
#define TENON_LIB_CODEGEN_CUDA_EPILOGUE_KERNELFRAME_H

#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "Codegen/CUDA/Emit/KernelBuilder.h"
#include "KernelGeometry.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::tenon {

/// States of a reduction in memory, [states, stored size, N].
struct StateBuffer {
  Value buffer;
  /// Rows of each but the last, i64; null for those that the groups of the
  /// phase before left.
  Value rows;
};

/// A kernel of one phase, with its arguments and its thread's place. Arguments
/// are, in order: the phase's operands, the outputs (in the last phase), the
/// states of the reductions that it applies, the state it leaves (in a phase
/// that ends in a reduction), M and the number of groups, both i64.
///
/// Threads beyond N or M work on the last column or row, and do not store. So
/// every thread meets every barrier, and no load is conditional.
class KernelFrame {
public:
  /// Opens a kernel in `module`; the builder is then in its body.
  KernelFrame(gpu::GPUModuleOp module, StringRef name, Location loc,
              const KernelGeometry &geometry, const EpiloguePhase &phase,
              unsigned numOutputs);
  /// Ends the kernel.
  void close() { LLVM::ReturnOp::create(b, ValueRange()); }

  LLVM::LLVMFuncOp getFunction() { return function; }

  void barrier();

  /// An array in shared memory.
  Value allocateShared(Type elementType, int64_t count);
  /// Emits `body` where `condition` holds.
  void emitIf(Value condition, llvm::function_ref<void()> body);
  /// The rows of a tile that this thread handles; may be beyond M.
  SmallVector<Value> getRows(Value tile, unsigned count);
  /// `rows`, but none beyond M.
  SmallVector<Value> clampRows(ArrayRef<Value> rows);

  KernelBuilder b;
  KernelGeometry geometry;
  DenseMap<Value, Value> pointers; ///< of the phase's operands
  SmallVector<Value> outputs;
  SmallVector<StateBuffer> finishedStates;
  Value state;                    ///< what the phase's own reduction leaves
  Value m, groups, tiles;         // i64
  Value thread, threadX, threadY; // i32
  Value group, blockColumn;       // i64; blockColumn: the block's first
  Value column;                   // i64; the thread's first
  Value columnInRange;            // i1

private:
  void computePlace();
  Value getStateRows(ReductionEpilogueOp reduction);

  gpu::GPUModuleOp module;
  LLVM::LLVMFuncOp function;
  unsigned numShared = 0;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EPILOGUE_KERNELFRAME_H
