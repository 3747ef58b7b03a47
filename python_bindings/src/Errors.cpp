//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statuses as exceptions. The classes are Python's own, in tenon/errors.py.
//
//===----------------------------------------------------------------------===//

#include "Native.h"

using namespace tenon::python;
namespace nb = nanobind;

static const char *classOf(TenonStatus status) {
  switch (status) {
  case TENON_INVALID_ARGUMENT:
    return "ArgumentError";
  case TENON_NOT_FOUND:
    return "NotFoundError";
  case TENON_UNSUPPORTED:
    return "UnsupportedError";
  case TENON_DEVICE_ERROR:
    return "DeviceError";
  default:
    return "TenonError";
  }
}

void tenon::python::setError(TenonStatus status, const char *message) {
  try {
    nb::object type =
        nb::module_::import_("tenon.errors").attr(classOf(status));
    PyErr_SetString(type.ptr(), message);
  } catch (nb::python_error &error) {
    error.restore();
  }
}

void tenon::python::raise(TenonStatus status, const char *message) {
  setError(status, message);
  throw nb::python_error();
}

void tenon::python::bindErrors(nb::module_ &module) {
  module.def("runtime_version", tenonRuntimeVersion,
             "Version of libtenon_runtime, \"major.minor.patch\".");
}
