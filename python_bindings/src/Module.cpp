//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Native.h"

using namespace tenon::python;
namespace nb = nanobind;

NB_MODULE(_native, module) {
  module.doc() = "Tenon's compiler and runtime.";
  // PyTorch keeps compiled code, and so models, until the interpreter is gone.
  nb::set_leak_warnings(false);
  bindErrors(module);
  bindCompiler(module);
  bindModel(module);
  bindLauncher(module);
  bindGuard(module);
  bindOp(module);
}
