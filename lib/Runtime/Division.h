//===- Division.h - Functions in two parts ----------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A strategy may divide a function into one that prepares what depends on
// parameters alone and one that runs with it. Callers need not know: they call
// the function as its author wrote it, or its two parts with what is prepared
// as one piece of memory.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_DIVISION_H
#define TENON_LIB_RUNTIME_DIVISION_H

#include "Check.h"
#include "Manifest.h"

#include <memory>
#include <vector>

namespace tenon::runtime {

/// What a function was divided into.
struct Division {
  TenonFunction *prepare, *run;
  /// The parameters, by their numbers among the function's inputs.
  std::vector<size_t> parameters;
  /// Inputs of `prepare`, by their numbers among the parameters.
  std::vector<size_t> prepareInputs;
  /// Inputs of `run`, by their numbers among the function's inputs; what
  /// `prepare` gives follows them.
  std::vector<size_t> runInputs;
};

/// Finds the parts of `entry` among `functions`.
std::unique_ptr<Division> divide(const EntryInfo &entry,
                                 std::vector<TenonFunction> &functions);

/// A caller's memory for what is prepared.
struct PreparedMemory {
  void *data;
  uint64_t bytes;
};

/// Prepares and runs; what is prepared lies in the workspace.
TenonStatus runDivided(const TenonFunction &function,
                       const CallTensors &tensors, void *workspace,
                       uint64_t bytes, void *stream);
/// Of inputs that have been checked.
TenonStatus dividedWorkspaceSize(const TenonFunction &function,
                                 const DLTensor *const *inputs, size_t &bytes);

TenonStatus prepareDivided(const TenonFunction &function,
                           const DLTensor *const *parameters,
                           int32_t numParameters, PreparedMemory prepared,
                           void *workspace, uint64_t bytes, void *stream);
TenonStatus prepareSizes(const TenonFunction &function,
                         const DLTensor *const *parameters,
                         int32_t numParameters, size_t &preparedBytes,
                         size_t &bytes);

TenonStatus runPrepared(const TenonFunction &function,
                        const CallTensors &tensors, PreparedMemory prepared,
                        void *workspace, uint64_t bytes, void *stream);
TenonStatus runPreparedWorkspaceSize(const TenonFunction &function,
                                     const DLTensor *const *inputs,
                                     int32_t numInputs, size_t *bytes);

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_DIVISION_H
