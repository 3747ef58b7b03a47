//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Comparison of outputs with the model's float64 reference.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_CHECK_H
#define TENON_TOOLS_TENON_RUN_CHECK_H

#include "Call.h"

namespace tenon::run {

/// The entry's reference. Fails, with the remedy, where the model has none.
const FunctionInfo &findReference(const ModelInfo &model,
                                  const EntryInfo &entry);

/// Runs the entry's reference on the CPU; gives its outputs.
std::vector<Tensor> runReference(TenonModel *model, const ModelInfo &info,
                                 const EntryInfo &entry, Device &cpu,
                                 const Tensors &inputs);

/// What an entry gave, and what it should have; all tensors are on the CPU.
struct Comparison {
  const EntryInfo &entry;
  const Tensors &inputs;
  const std::vector<Tensor> &outputs;
  std::vector<Tensor> reference;
};

/// How far an output is off.
struct Deviation {
  /// NaN or infinite where one of the counts below is not 0.
  double max = 0, rms = 0, relative = 0;
  int64_t nans = 0, infinities = 0; ///< the latter: unlike the reference's
  bool isWithin(double tolerance) const {
    return relative <= tolerance; // false for a NaN
  }
};

/// Of two tensors of one shape on the CPU.
Deviation measure(const Tensor &output, const Tensor &reference);

/// Prints one line for each output, and says how many are too far off.
int printErrors(const Comparison &comparison, std::optional<double> tolerance);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_CHECK_H
