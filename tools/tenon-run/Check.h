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

/// Runs the reference on the CPU on `inputs`, prints one line for each of
/// `outputs`, tensors on the CPU too, and says how many are too far off.
int compareWithReference(TenonModel *model, const ModelInfo &info,
                         const EntryInfo &entry, Device &cpu,
                         const Tensors &inputs,
                         const std::vector<Tensor> &outputs,
                         std::optional<double> tolerance);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_CHECK_H
