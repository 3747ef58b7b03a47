//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prepared.h"

#include <algorithm>
#include <nanobind/stl/vector.h>

using namespace tenon::python;
namespace nb = nanobind;
using namespace nb::literals;

bool Prepared::isFor(void *stream) const {
  return !hasEnded &&
         std::find(streams.begin(), streams.end(), stream) != streams.end() &&
         nb::inst_ptr<Version>(version)->holds();
}

void PreparedTable::add(Key key, const PreparedPtr &prepared) {
  std::erase_if(known, [](const auto &item) { return item.second.expired(); });
  known[std::move(key)] = prepared;
}

PreparedPtr PreparedTable::find(const Key &key, void *stream) const {
  auto found = known.find(key);
  PreparedPtr prepared = found == known.end() ? nullptr : found->second.lock();
  return prepared && prepared->isFor(stream) ? prepared : nullptr;
}

//===----------------------------------------------------------------------===//
// Python's side
//===----------------------------------------------------------------------===//

static void deleteLocked(Prepared *prepared) {
  if (!Py_IsInitialized())
    return;
  nb::gil_scoped_acquire locked;
  delete prepared;
}

static void *pointerOf(uintptr_t address) {
  return reinterpret_cast<void *>(address);
}

static void initialize(PreparedHandle *self, nb::object version,
                       nb::object tensors,
                       const std::vector<uintptr_t> &addresses) {
  auto *prepared = new Prepared{std::move(version), std::move(tensors), {}, {}};
  new (self) PreparedHandle{{prepared, deleteLocked}};
  for (uintptr_t address : addresses)
    prepared->pointers.push_back(pointerOf(address));
}

void tenon::python::bindPrepared(nb::module_ &module) {
  nb::class_<PreparedHandle>(
      module, "Prepared",
      "What was made of one version of some parameters, for the op's kernel.")
      .def("__init__", initialize, "version"_a.sig("Version"), "tensors"_a,
           "addresses"_a)
      .def(
          "add_stream",
          [](PreparedHandle &self, uintptr_t stream) {
            self.prepared->streams.push_back(pointerOf(stream));
          },
          "stream"_a, "Tells of a stream whose work finds it made.")
      .def(
          "end", [](PreparedHandle &self) { self.prepared->hasEnded = true; },
          "Tells that it is about to be overwritten.");
}
