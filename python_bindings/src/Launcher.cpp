//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The hot path from Python: integers in, tenonFunctionRun, nothing out.
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"

#include "tenon/Runtime/DataType.h"

#include <algorithm>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

using namespace tenon::python;
namespace nb = nanobind;
using namespace nb::literals;

//===----------------------------------------------------------------------===//
// Launcher
//===----------------------------------------------------------------------===//

/// Of a dtype that the runtime has read in the manifest too.
static DLDataType dtypeOf(const std::string &name) {
  const TenonDataType &type = *findTenonDataType(name);
  return {type.dlpackCode, static_cast<uint8_t>(8 * type.bytes), 1};
}

Launcher::Launcher(ModelPtr model, TenonFunction *function,
                   const nb::dict &description, DLDevice device)
    : model(std::move(model)), function(function),
      name(nb::cast<std::string>(description["name"])) {
  for (nb::handle tensor : description["inputs"])
    add(tensor, device);
  numInputs = static_cast<int32_t>(tensors.size());
  for (nb::handle tensor : description["outputs"])
    add(tensor, device);
}

size_t Launcher::symbolNumber(const std::string &symbol) {
  auto found = std::find(symbols.begin(), symbols.end(), symbol);
  size_t number = found - symbols.begin();
  if (found == symbols.end())
    symbols.push_back(symbol);
  return number;
}

/// Appends an entry of the manifest.
void Launcher::add(nb::handle tensor, DLDevice device) {
  int32_t rank = 0;
  for (nb::handle extent : tensor["shape"]) {
    ++rank;
    if (nb::isinstance<nb::str>(extent))
      dynamic.push_back(
          {extents.size(), symbolNumber(nb::cast<std::string>(extent))});
    extents.push_back(
        nb::isinstance<nb::str>(extent) ? 0 : nb::cast<int64_t>(extent));
  }
  tensorNames.push_back(nb::cast<std::string>(tensor["name"]));
  DLDataType dtype = dtypeOf(nb::cast<std::string>(tensor["dtype"]));
  tensors.push_back({nullptr, device, rank, dtype, nullptr, nullptr, 0});
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

[[noreturn]] static void failCount(const Launcher &launcher, const char *what,
                                   const std::vector<std::string> &names,
                                   size_t given) {
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "" : ", ") + name;
  raise(TENON_INVALID_ARGUMENT,
        (launcher.name + ": " + std::to_string(names.size()) + " " + what +
         " expected (" + list + "), " + std::to_string(given) + " given")
            .c_str());
}

/// Reads a tuple or list of integers with `convert`, and gives each with its
/// position to `store`. Borrowed references and no iterator: a call of a model
/// with ten tensors would feel them.
template <typename Convert, typename Store>
static void readIntegers(const Launcher &launcher, PyObject *sequence,
                         const char *what,
                         const std::vector<std::string> &names, Convert convert,
                         Store store) {
  bool isTuple = PyTuple_Check(sequence);
  if (!isTuple && !PyList_Check(sequence))
    raise(TENON_INVALID_ARGUMENT,
          (launcher.name + ": the " + what + " are a tuple or list of integers")
              .c_str());
  auto size = static_cast<size_t>(isTuple ? PyTuple_Size(sequence)
                                          : PyList_Size(sequence));
  if (size != names.size())
    failCount(launcher, what, names, size);
  for (size_t i = 0; i < size; ++i) {
    PyObject *item =
        isTuple ? PyTuple_GetItem(sequence, i) : PyList_GetItem(sequence, i);
    auto value = item ? convert(item) : decltype(convert(item))(-1);
    if (value == decltype(value)(-1) && PyErr_Occurred())
      throw nb::python_error();
    store(i, value);
  }
}

static void readExtents(const Launcher &launcher, PyObject *values,
                        Frame &frame) {
  readIntegers(launcher, values, "extents", launcher.symbols, PyLong_AsLongLong,
               [&](size_t symbol, int64_t extent) {
                 frame.setExtent(launcher, symbol, extent);
               });
}

static void *pointerOf(PyObject *integer) {
  uint64_t value = PyLong_AsUnsignedLongLong(integer);
  if (value == uint64_t(-1) && PyErr_Occurred())
    throw nb::python_error();
  return reinterpret_cast<void *>(value);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static void launch(const Launcher &launcher, PyObject *arguments) {
  if (PyTuple_Size(arguments) != 5)
    raise(TENON_INVALID_ARGUMENT,
          (launcher.name + ": a launcher takes pointers, extents, workspace, "
                           "workspace_bytes and stream")
              .c_str());
  Frame frame(launcher);
  readIntegers(launcher, PyTuple_GetItem(arguments, 0), "pointers",
               launcher.tensorNames, PyLong_AsUnsignedLongLong,
               [&](size_t i, uint64_t pointer) {
                 frame.tensors[i].data = reinterpret_cast<void *>(pointer);
               });
  readExtents(launcher, PyTuple_GetItem(arguments, 1), frame);
  void *workspace = pointerOf(PyTuple_GetItem(arguments, 2));
  auto bytes =
      reinterpret_cast<size_t>(pointerOf(PyTuple_GetItem(arguments, 3)));
  void *stream = pointerOf(PyTuple_GetItem(arguments, 4));
  TenonStatus status;
  {
    nb::gil_scoped_release unlocked;
    status = frame.run(launcher, workspace, bytes, stream);
  }
  check(status);
}

/// Launcher.__call__ as a slot of the type: no overload is looked for.
static PyObject *call(PyObject *self, PyObject *arguments, PyObject *keywords) {
  try {
    if (keywords && PyDict_Size(keywords))
      raise(TENON_INVALID_ARGUMENT, "a launcher takes no keyword arguments");
    if (!nb::inst_ready(self)) // Launcher.__new__
      raise(TENON_INVALID_ARGUMENT,
            "a launcher comes from NativeFunction.launcher");
    launch(*nb::inst_ptr<Launcher>(self), arguments);
  } catch (nb::python_error &error) {
    error.restore();
    return nullptr;
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
  Py_INCREF(Py_None);
  return Py_None;
}

static size_t workspaceBytes(Launcher &launcher, nb::handle extents) {
  Frame frame(launcher);
  readExtents(launcher, extents.ptr(), frame);
  int64_t *end = frame.extents + launcher.extents.size();
  if (launcher.isSized &&
      std::equal(frame.extents, end, launcher.sizedFor.data()))
    return launcher.sized;
  size_t bytes;
  check(frame.workspaceBytes(launcher, bytes));
  launcher.sizedFor.assign(frame.extents, end);
  launcher.sized = bytes;
  launcher.isSized = true;
  return bytes;
}

nb::object tenon::python::makeLauncher(ModelPtr model, TenonFunction *function,
                                       const nb::dict &description,
                                       DLDevice device) {
  return nb::cast(Launcher(std::move(model), function, description, device));
}

void tenon::python::bindLauncher(nb::module_ &module) {
  static const PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void *>(call)}, {0, nullptr}};
  nb::class_<Launcher>(
      module, "Launcher", nb::type_slots(slots),
      "Calls a function on one device: launcher(pointers, extents, workspace, "
      "workspace_bytes, stream). Pointers are of inputs, then outputs; extents "
      "are the values of `symbols`. Safe to call from several threads.")
      .def_ro("symbols", &Launcher::symbols,
              "Names of the dynamic extents, in order of first appearance.")
      .def_ro("tensors", &Launcher::tensorNames,
              "Names of the inputs, then the outputs.")
      .def("workspace_bytes", workspaceBytes, "extents"_a,
           "Bytes of workspace that a call with these extents needs.");
}
