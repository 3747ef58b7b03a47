//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Comparison of outputs with the model's float64 reference, and with SGEMM's.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_CHECK_H
#define TENON_TOOLS_TENON_RUN_CHECK_H

#include "Call.h"
#include "Model.h"

namespace tenon::run {

/// What an entry gave, and what it should have; all tensors are on the CPU.
struct Comparison {
  const EntryInfo &entry;
  const Tensors &inputs;
  const std::vector<Tensor> &outputs;
  std::vector<Tensor> reference;
  /// How far off each element may be; of no output where that is not known.
  std::vector<Tensor> bounds;
};

/// Fails, with the remedy, where the model has no reference for the entry.
const FunctionInfo &requireReference(const Manifest &manifest,
                                     const EntryInfo &entry);

/// Runs the entry's reference on the CPU; gives its outputs.
std::vector<Tensor> runReference(TenonModel *model, const Manifest &manifest,
                                 const EntryInfo &entry, Device &cpu,
                                 const Tensors &inputs);

/// Runs what bounds the errors of the entry's elements; gives its outputs, none
/// where the model does not know.
std::vector<Tensor> runBounds(TenonModel *model, const Manifest &manifest,
                              const EntryInfo &entry, Device &cpu,
                              const Tensors &inputs);

/// Prints a line for each output, or two, and says how many are too far off: as
/// a whole, or where no tolerance is given, in an element.
int printErrors(const Comparison &comparison, std::optional<double> tolerance);

/// Where a GPU's library would have multiplied by SGEMM: prints a table of the
/// outputs' errors beside those of the library's, from the same inputs.
/// `source` is the model's text.
void printBesideSgemm(const Comparison &comparison, const std::string &source,
                      Device &device, Device &cpu);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_CHECK_H
