//===- Check.h - Do these tensors fit the function? -------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that a caller can get wrong is found here, before any code of the model
// runs: generated code trusts its descriptors.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_CHECK_H
#define TENON_LIB_RUNTIME_CHECK_H

#include "Manifest.h"

namespace tenon::runtime {

/// The tensors of one call.
struct CallTensors {
  const DLTensor *const *inputs;
  int32_t numInputs;
  DLTensor *const *outputs;
  int32_t numOutputs;
};

enum class CheckScope {
  Sizes, ///< shapes, dtypes and device of the inputs
  All,   ///< also strides, data and the outputs
};

/// Checks `tensors` against `function` and sets `device`, which they share.
/// Tensors may overlap: an output in the place of an input is how running
/// statistics are updated, and only the caller knows which it meant.
TenonStatus checkTensors(const FunctionInfo &function,
                         const CallTensors &tensors, CheckScope scope,
                         DLDevice &device);

/// Checks what the caller gave as workspace, or as other memory: `what` it is
/// for, and what tells its size.
TenonStatus checkWorkspace(const FunctionInfo &function, int64_t needed,
                           const void *workspace, uint64_t bytes,
                           const char *what = "workspace",
                           const char *sizes = "tenonFunctionWorkspaceSize");

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_CHECK_H
