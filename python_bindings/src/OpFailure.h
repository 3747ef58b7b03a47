//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What PyTorch catches when the op fails.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PYTHON_BINDINGS_OPFAILURE_H
#define TENON_PYTHON_BINDINGS_OPFAILURE_H

#include "Native.h"

#include <stdexcept>
#include <string>

namespace pybind11 {

/// Declared as pybind11 declares it: PyTorch, which is built with pybind11,
/// calls `set_error` of what it catches by this name. To a PyTorch that knows
/// another class by the name, it is a std::runtime_error.
class __attribute__((visibility("default"))) builtin_exception
    : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
  virtual void set_error() const = 0;
};

} // namespace pybind11

namespace tenon::python {

/// A failure of the op, to C++ a sentence, to Python the exception it would
/// have been had Python run the function.
class OpFailure : public pybind11::builtin_exception {
public:
  OpFailure(TenonStatus status, const char *message)
      : builtin_exception(message), status(status) {}

  /// What an exception of Python's says; the interpreter's lock is held.
  explicit OpFailure(nanobind::handle exception);

  void set_error() const override;

private:
  TenonStatus status = TENON_OK;
  /// Takes the interpreter's lock to let go of it.
  std::shared_ptr<PyObject> exception;
};

/// Throws `failure`, which is deleted, to PyTorch.
///
/// The wheel's module has a C++ library of its own, whose exceptions are not
/// another's to count and unwind. So this one is thrown by the library that
/// PyTorch catches it with, and the frames between, this and the op's kernel,
/// have nothing to clean up.
[[noreturn]] void throwToTorch(OpFailure *failure);

} // namespace tenon::python

#endif // TENON_PYTHON_BINDINGS_OPFAILURE_H
