//===- ElementEmitter.h - Epilogue ops on a thread's elements --*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_EMIT_ELEMENTEMITTER_H
#define TENON_LIB_CODEGEN_CUDA_EMIT_ELEMENTEMITTER_H

#include "tenon/Dialect/Tenon/Analysis/EpiloguePlan.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::tenon {

/// Emits the values of an epilogue's region on scalars, for the elements that
/// one thread holds: a few rows by a few neighbouring columns (lanes).
class ElementEmitter {
public:
  /// `pointers` are where the region's arguments lie in memory; `column` is the
  /// first lane's.
  ElementEmitter(ImplicitLocOpBuilder &builder,
                 const DenseMap<Value, Value> &pointers, Value column,
                 unsigned lanes)
      : builder(builder), pointers(pointers), column(column), lanes(lanes) {}

  /// What a reduction found for a lane's column.
  void setFinished(Operation *reduction, unsigned lane,
                   SmallVector<Value> values) {
    finished[{reduction, lane}] = std::move(values);
  }

  /// From here on, elements that a row's one value divides are multiplied by
  /// its reciprocal, which their thread has registers for, and corrected.
  void shareReciprocals() { sharesReciprocals = true; }

  /// Emits, here, what elementwise ops read that is the same in every row.
  void emitRowInvariant(const EpiloguePhase &phase);

  /// From here on, row number i is `rows[i]`; loads `operands` there.
  void beginRows(ArrayRef<Value> rows, ArrayRef<BlockArgument> operands);

  /// From here on, the next row number is `row`.
  void addRow(Value row) { rows.push_back(row); }

  /// Emits, here, the loads of `operands` that row number `row` needs.
  void loadRow(unsigned row, ArrayRef<BlockArgument> operands);

  /// Gives the value of an argument, or of another tensor of the region, that
  /// is in a register.
  void set(Value tensor, unsigned row, unsigned lane, Value value);

  /// The value of `tensor` at a row and lane, in its compute type.
  Value get(Value tensor, unsigned row, unsigned lane);

private:
  void load(BlockArgument argument, unsigned row);
  Value emit(OpResult result, unsigned row, unsigned lane);
  bool isOfOneDivisor(Operation *op) const;

  using Key = std::tuple<Value, unsigned, unsigned>;
  ImplicitLocOpBuilder &builder;
  const DenseMap<Value, Value> &pointers;
  Value column;
  unsigned lanes;
  bool sharesReciprocals = false;
  SmallVector<Value> rows;
  DenseMap<Key, Value> invariant, varying;
  DenseMap<std::pair<Operation *, unsigned>, SmallVector<Value>> finished;
};

/// a / b of i64, rounded up; neither is negative.
Value emitCeilDiv(ImplicitLocOpBuilder &builder, Value a, Value b);

/// `value` in another float type.
Value castFloat(ImplicitLocOpBuilder &builder, Value value, Type type);

/// Casts values to an element type, as bits where LLVM has no such type.
SmallVector<Value> roundElements(ImplicitLocOpBuilder &builder,
                                 Type elementType, ArrayRef<Value> values);

/// Loads `lanes` neighbouring elements and gives them one by one, in their
/// compute type; stores them, cast to `elementType`.
SmallVector<Value> loadLanes(ImplicitLocOpBuilder &builder, Value pointer,
                             Value offset, Type elementType, unsigned lanes);
void storeLanes(ImplicitLocOpBuilder &builder, Value pointer, Value offset,
                Type elementType, ArrayRef<Value> values);

/// Where the element of `type` at a row and column lies, in elements.
Value getOffset(ImplicitLocOpBuilder &builder, Type type, Value row,
                Value column);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_EMIT_ELEMENTEMITTER_H
