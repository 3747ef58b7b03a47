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

#include "Inputs.h"
#include "tenon-c/Model.h"

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
                           results.views.size(),
                           workspace ? workspace->data() : nullptr,
                           workspaceBytes, device.stream()));
  }

  std::vector<Tensor> outputs;

private:
  struct Views {
    std::vector<DLTensor> views;
    std::vector<DLTensor *> pointers;
    void point();
  };

  Device &device;
  TenonFunction *function = nullptr;
  Views inputs, results;
  std::optional<Buffer> workspace;
  size_t workspaceBytes = 0;
};

/// An entry on a device: its inputs there, its parameters prepared.
class Program {
public:
  Program(TenonModel *model, const ModelInfo &info, const EntryInfo &entry,
          Device &device, const Tensors &inputs);

  /// The entry's run function.
  Call &call() { return *run; }

private:
  std::vector<const Tensor *> gather(const FunctionInfo &function) const;

  const Tensors &host;
  Tensors copies;
  std::optional<Call> prepare, run;
};

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_CALL_H
