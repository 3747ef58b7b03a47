//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells whether Python objects are as they were: some hundred comparisons of
// pointers in each call of an optimized module, which would take Python longer
// than the model's kernels.
//
//===----------------------------------------------------------------------===//

#include "Native.h"

#include <vector>

using namespace tenon::python;
namespace nb = nanobind;
using namespace nb::literals;

namespace {

/// Pointers are borrowed from `owned`, a tuple of tuples that cannot change.
struct Guard {
  /// `holder` has `value` under `name`; for null, nothing.
  struct Entry {
    PyObject *holder, *name, *value;
  };
  struct Size {
    PyObject *container;
    Py_ssize_t size;
  };

  Guard(const nb::iterable &items, const nb::iterable &absent,
        const nb::iterable &attributes, const nb::iterable &sizes,
        const nb::iterable &results, nb::object admits);

  std::vector<Entry> items, attributes, results;
  std::vector<Size> sizes;
  nb::object owned;
  nb::object admits; ///< tells of a result that was not there before
  std::vector<nb::object> admitted; ///< weak references, by result
};

} // namespace

/// Returns element `i` of `tuple`, borrowed.
static PyObject *element(nb::handle tuple, Py_ssize_t i) {
  PyObject *value = PyTuple_GetItem(tuple.ptr(), i);
  if (!value)
    throw nb::python_error();
  return value;
}

Guard::Guard(const nb::iterable &itemList, const nb::iterable &absentList,
             const nb::iterable &attributeList, const nb::iterable &sizeList,
             const nb::iterable &resultList, nb::object admits)
    : admits(std::move(admits)) {
  nb::tuple itemTuple(itemList), absentTuple(absentList),
      attributeTuple(attributeList), sizeTuple(sizeList),
      resultTuple(resultList);
  for (nb::handle item : itemTuple)
    items.push_back({element(item, 0), element(item, 1), element(item, 2)});
  for (nb::handle item : absentTuple)
    items.push_back({element(item, 0), element(item, 1), nullptr});
  for (nb::handle item : attributeTuple)
    attributes.push_back(
        {element(item, 0), element(item, 1), element(item, 2)});
  for (nb::handle item : sizeTuple)
    sizes.push_back(
        {element(item, 0), nb::cast<Py_ssize_t>(nb::handle(element(item, 1)))});
  for (nb::handle item : resultTuple)
    results.push_back({element(item, 0), element(item, 1), nullptr});
  for (const std::vector<Entry> *entries : {&items, &results})
    for (const Entry &entry : *entries)
      if (!PyDict_Check(entry.holder))
        throw nb::type_error("a guard looks up items of dictionaries");
  owned = nb::make_tuple(itemTuple, absentTuple, attributeTuple, sizeTuple,
                         resultTuple);
  admitted.resize(results.size());
}

/// Tells whether all is as it was. An error of Python may be set if not.
static bool holds(const Guard &guard) {
  for (const Guard::Entry &item : guard.items)
    if (PyDict_GetItemWithError(item.holder, item.name) != item.value)
      return false;
  for (const Guard::Entry &attribute : guard.attributes) {
    PyObject *value = PyObject_GetAttr(attribute.holder, attribute.name);
    Py_XDECREF(value); // its holder keeps it, or it is another
    if (value != attribute.value)
      return false;
  }
  for (const Guard::Size &size : guard.sizes)
    if (PyObject_Size(size.container) != size.size)
      return false;
  return true;
}

/// Tells whether result `i` is the one that was admitted last, or is admitted.
/// An error of Python may be set if not.
static bool admits(Guard &guard, size_t i, PyObject *result) {
  PyObject *last = guard.admitted[i].ptr();
  // What is gone is None.
  if (last && result != Py_None && PyWeakref_GetObject(last) == result)
    return true;
  PyObject *answer =
      PyObject_CallFunctionObjArgs(guard.admits.ptr(), result, nullptr);
  bool isAdmitted = answer && PyObject_IsTrue(answer) == 1;
  Py_XDECREF(answer);
  PyObject *reference =
      isAdmitted ? PyWeakref_NewRef(result, nullptr) : nullptr;
  if (reference)
    guard.admitted[i] = nb::steal(reference);
  return reference != nullptr;
}

static PyObject *none() {
  PyErr_Clear(); // what was looked for is gone
  Py_INCREF(Py_None);
  return Py_None;
}

/// Guard.__call__ as a slot of the type: no overload is looked for.
static PyObject *call(PyObject *self, PyObject *, PyObject *) {
  if (!nb::inst_ready(self)) { // Guard.__new__
    PyErr_SetString(PyExc_TypeError, "a guard comes from Guard()");
    return nullptr;
  }
  Guard &guard = *nb::inst_ptr<Guard>(self);
  if (!holds(guard))
    return none();
  PyObject *results =
      PyTuple_New(static_cast<Py_ssize_t>(guard.results.size()));
  for (size_t i = 0; results && i < guard.results.size(); ++i) {
    const Guard::Entry &entry = guard.results[i];
    PyObject *value = PyDict_GetItemWithError(entry.holder, entry.name);
    Py_XINCREF(value);
    if (value)
      PyTuple_SetItem(results, static_cast<Py_ssize_t>(i), value);
    if (!value || !admits(guard, i, value)) {
      Py_DECREF(results);
      return none();
    }
  }
  return results;
}

/// A model may hold its guard, by way of its optimized self: see nanobind's
/// documentation of reference cycles.
static int traverse(PyObject *self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self))
    return 0;
  const Guard &guard = *nb::inst_ptr<Guard>(self);
  Py_VISIT(guard.owned.ptr());
  Py_VISIT(guard.admits.ptr());
  for (const nb::object &reference : guard.admitted)
    Py_VISIT(reference.ptr());
  return 0;
}

static int clear(PyObject *self) {
  Guard &guard = *nb::inst_ptr<Guard>(self);
  guard.items.clear();
  guard.attributes.clear();
  guard.sizes.clear();
  guard.results.clear();
  guard.admitted.clear();
  guard.admits.reset();
  guard.owned.reset();
  return 0;
}

void tenon::python::bindGuard(nb::module_ &module) {
  static const PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void *>(call)},
      {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
      {Py_tp_clear, reinterpret_cast<void *>(clear)},
      {0, nullptr}};
  nb::class_<Guard>(
      module, "Guard", nb::type_slots(slots),
      "Compares objects, by identity, with what they were. Called, it returns "
      "the values of `results` as a tuple, or None if anything else changed. "
      "Of a value that was not there in the last call `admits` is asked, and "
      "None returned unless it is true.")
      .def(nb::init<const nb::iterable &, const nb::iterable &,
                    const nb::iterable &, const nb::iterable &,
                    const nb::iterable &, nb::object>(),
           nb::kw_only(), "items"_a, "absent"_a, "attributes"_a, "sizes"_a,
           "results"_a, "admits"_a);
}
