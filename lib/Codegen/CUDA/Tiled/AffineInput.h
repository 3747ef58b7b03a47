//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scales and biases before a batch norm, once a column and not once an element.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_AFFINEINPUT_H
#define TENON_LIB_CODEGEN_CUDA_TILED_AFFINEINPUT_H

#include "Codegen/CUDA/Emit/ElementEmitter.h"
#include "FragmentStates.h"
#include "tenon/Schedule/Checks/ReductionMethod.h"
#include "tenon/Schedule/Checks/Schedule.h"

namespace mlir::tenon {

/// A batch norm of factor * a + shift, a being the product, or what is returned
/// of before the norm, and factor and shift the same in all rows. Its kernel
/// can reduce a itself: mean and M2 of that give those of the norm's input, and
/// the norm's result is (a - mean of a) * (factor * scale) + bias. So no
/// element is scaled, and a large shift takes no digits from M2.
class AffineInput {
public:
  /// Nothing if the region computes the norm's input in another way, rounds on
  /// the way, or has another use for it.
  static std::optional<AffineInput> find(TiledLinearOp op,
                                         ReductionEpilogueOp reduction);

  /// What is reduced in the place of the norm's input.
  Value getSource() const { return source; }

  /// Loads and computes factor and shift of the emitter's column.
  void load(KernelBuilder &b, ElementEmitter &emitter);
  /// The state of the norm's input, from the products'.
  SmallVector<Value> mapState(KernelBuilder &b, ValueRange state);
  /// What emitFinish gave for the norm's input, for products in its place.
  void adapt(KernelBuilder &b, ValueRange ofProducts, ValueRange ofInput,
             MutableArrayRef<Value> finished);

private:
  Value source;
  SmallVector<AffineStep> steps;
  Value factor, shift; ///< null: 1, and 0
};

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_AFFINEINPUT_H
