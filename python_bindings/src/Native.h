//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The module tenon._native: the C interfaces of compiler and runtime as Python
// sees them. Everything else of the package is Python.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PYTHON_BINDINGS_NATIVE_H
#define TENON_PYTHON_BINDINGS_NATIVE_H

#include "tenon-c/Model.h"

#include <memory>
#include <nanobind/nanobind.h>

namespace tenon::python {

/// Sets the exception of tenon.errors that `status` stands for.
void setError(TenonStatus status, const char *message);

/// Raises it.
[[noreturn]] void raise(TenonStatus status, const char *message);

/// Raises what the runtime says of its last failure, if `status` is one.
inline void check(TenonStatus status) {
  if (status != TENON_OK)
    raise(status, tenonLastError());
}

/// Functions and launchers share the model that they belong to.
using ModelPtr = std::shared_ptr<TenonModel>;

void bindErrors(nanobind::module_ &module);
void bindCompiler(nanobind::module_ &module);
void bindModel(nanobind::module_ &module);
void bindLauncher(nanobind::module_ &module);
void bindGuard(nanobind::module_ &module);
void bindVersion(nanobind::module_ &module);
void bindPrepared(nanobind::module_ &module);
void bindOp(nanobind::module_ &module);

/// A new Launcher for `function`, whose tensors `description` (an entry of the
/// manifest's "functions") describes, on `device`.
nanobind::object makeLauncher(ModelPtr model, TenonFunction *function,
                              const nanobind::dict &description,
                              DLDevice device);

} // namespace tenon::python

#endif // TENON_PYTHON_BINDINGS_NATIVE_H
