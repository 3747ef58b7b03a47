//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls of a loaded model's functions.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_CALL_H
#define TENON_TOOLS_TENON_RUN_CALL_H

#include "Tensor.h"

#include <optional>

namespace tenon::run {

/// Throws the runtime's message unless `status` is TENON_OK.
void check(TenonStatus status);

/// One function with its tensors and its workspace.
class Call {
public:
  /// Allocates outputs and workspace, all NaN; the inputs must outlive it.
  Call(TenonModel *model, const FunctionInfo &info, Device &device,
       const std::vector<const Tensor *> &inputs);
  Call(const Call &) = delete;

  /// Runs it; on a GPU, enqueues it.
  void operator()() {
    check(tenonFunctionRun(function, inputs.pointers.data(),
                           inputs.views.size(), results.pointers.data(),
                           results.views.size(), workspace.get(),
                           workspaceBytes, device.stream()));
  }

  std::vector<Tensor> outputs;

private:
  struct Views {
    void add(const std::vector<const Tensor *> &tensors);
    std::vector<DLTensor> views;
    std::vector<DLTensor *> pointers;
  };

  Device &device;
  TenonFunction *function = nullptr;
  Views inputs, results;
  std::shared_ptr<void> workspace;
  size_t workspaceBytes = 0;
};

/// An entry on a device: its inputs there, its parameters prepared.
class Program {
public:
  Program(TenonModel *model, const Manifest &manifest, const EntryInfo &entry,
          Device &device, const Tensors &inputs);

  /// The entry's run function.
  Call &call() { return *run; }
  /// Calls it and waits; gives what it gave, on the CPU.
  std::vector<Tensor> getOutputs(Device &cpu);

private:
  std::vector<const Tensor *> gather(const FunctionInfo &function) const;

  Device &device;
  Tensors inputs;
  std::optional<Call> prepare, run;
};

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_CALL_H
