//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Version.h"

using namespace tenon::python;
namespace nb = nanobind;
using namespace nb::literals;

/// Counts what ends all versions.
static uint64_t currentEpoch = 0;

//===----------------------------------------------------------------------===//
// What is asked of tensors
//===----------------------------------------------------------------------===//

static nb::object orRaise(PyObject *result) {
  if (!result)
    throw nb::python_error();
  return nb::steal(result);
}

/// Names are made once: a call of a model asks for some hundred.
static PyObject *name(const char *text) {
  return PyUnicode_InternFromString(text);
}

static nb::object memoryOf(nb::handle tensor) {
  static PyObject *dataPtr = name("data_ptr");
  return orRaise(PyObject_CallMethodObjArgs(tensor.ptr(), dataPtr, nullptr));
}

/// A view of the same memory may have been swapped in, as `p.data =
/// p.data.t()`.
static nb::object stridesOf(nb::handle tensor) {
  static PyObject *stride = name("stride");
  return orRaise(PyObject_CallMethodObjArgs(tensor.ptr(), stride, nullptr));
}

static nb::object countOf(nb::handle tensor) {
  static PyObject *version = name("_version");
  return orRaise(PyObject_GetAttr(tensor.ptr(), version));
}

static bool isEqual(const nb::object &a, const nb::object &b) {
  int result = PyObject_RichCompareBool(a.ptr(), b.ptr(), Py_EQ);
  if (result < 0)
    throw nb::python_error();
  return result;
}

/// What a weak reference refers to; None if that is gone.
static nb::object referred(const nb::object &reference) {
  return orRaise(PyObject_CallNoArgs(reference.ptr()));
}

//===----------------------------------------------------------------------===//
// Version
//===----------------------------------------------------------------------===//

Version::Version(const nb::list &tensors, const nb::list &storages,
                 nb::object expired)
    : expired(std::move(expired)), epoch(currentEpoch) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    nb::object tensor = tensors[i], storage = storages[i];
    bool isCounted = !nb::cast<bool>(tensor.attr("is_inference")());
    stamps.push_back({orRaise(PyWeakref_NewRef(tensor.ptr(), nullptr)), storage,
                      storage.attr("cdata"), memoryOf(tensor),
                      stridesOf(tensor),
                      isCounted ? countOf(tensor) : nb::none()});
  }
}

bool Version::holds(const Stamp &stamp) const {
  nb::object tensor = referred(stamp.tensor);
  if (tensor.is_none() || stamp.count.is_none() ||
      !isEqual(memoryOf(tensor), stamp.memory) ||
      !isEqual(countOf(tensor), stamp.count) ||
      !isEqual(stridesOf(tensor), stamp.strides))
    return false;
  // Memory at the same address is the same only while the old one is alive.
  return orRaise(PyObject_CallFunctionObjArgs(expired.ptr(), stamp.cdata.ptr(),
                                              nullptr))
      .is(nb::handle(Py_False));
}

bool Version::holds() const {
  if (epoch != currentEpoch)
    return false;
  for (const Stamp &stamp : stamps)
    if (!holds(stamp))
      return false;
  return true;
}

bool Version::isOf(nb::handle tensors) const {
  size_t i = 0;
  for (nb::handle tensor : tensors) {
    if (i == stamps.size() || !referred(stamps[i].tensor).is(tensor))
      return false;
    ++i;
  }
  return i == stamps.size();
}

nb::object Version::parameters() const {
  nb::list tensors;
  for (const Stamp &stamp : stamps) {
    nb::object tensor = referred(stamp.tensor);
    if (tensor.is_none())
      return nb::none();
    tensors.append(tensor);
  }
  return tensors;
}

void tenon::python::bindVersion(nb::module_ &module) {
  nb::class_<Version>(module, "Version", "A version of some parameters.")
      .def(
          nb::init<const nb::list &, const nb::list &, nb::object>(),
          "tensors"_a, "storages"_a, "expired"_a,
          "Records tensors as they are now: StorageWeakRefs of their storages, "
          "and what tells of a storage's cdata whether it is gone.")
      .def(
          "holds",
          [](const Version &version, nb::handle tensors) {
            return version.isOf(tensors) && version.holds();
          },
          "tensors"_a, "Whether these are the same tensors, unchanged.")
      .def(
          "is_current", [](const Version &version) { return version.holds(); },
          "Whether all of its tensors are there and unchanged.")
      .def("is_of", &Version::isOf, "tensors"_a,
           "Whether this is a version of these tensors, the present one or "
           "not.")
      .def("parameters", &Version::parameters,
           "The tensors that this is a version of; None where one is gone.");
  module.def(
      "end_versions", [] { ++currentEpoch; },
      "Has no version hold any more that was recorded before.");
}
