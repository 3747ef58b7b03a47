//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inputs of an entry, from files or random.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_INPUTS_H
#define TENON_TOOLS_TENON_RUN_INPUTS_H

#include "Arguments.h"
#include "Tensor.h"

#include <map>

namespace tenon::run {

/// Tensors by name.
using Tensors = std::map<std::string, Tensor>;

/// Makes all inputs of `entry` and of its reference, on the CPU.
Tensors makeInputs(Device &cpu, const ModelInfo &model, const EntryInfo &entry,
                   const Arguments &arguments);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_INPUTS_H
