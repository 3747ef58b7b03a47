//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells one version of a model's parameters from the next: by the tensors'
// identity, their memory, and PyTorch's counters of what writes to it. The
// interpreter's lock guards all of it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PYTHON_BINDINGS_VERSION_H
#define TENON_PYTHON_BINDINGS_VERSION_H

#include "Native.h"

#include <vector>

namespace tenon::python {

/// A version of some parameters: dtype and device of each are those of its
/// memory.
class Version {
public:
  /// Records the tensors as they are now. A storage is a weak reference to a
  /// tensor's, and `expired(storage.cdata)` tells whether that is gone.
  Version(const nanobind::list &tensors, const nanobind::list &storages,
          nanobind::object expired);

  /// True if all of the parameters are there and unchanged.
  bool holds() const;

  /// True if this is a version of these tensors, the present one or not.
  bool isOf(nanobind::handle tensors) const;

  /// The parameters in a list; None where one is gone.
  nanobind::object parameters() const;

private:
  struct Stamp {
    nanobind::object tensor;         // a weak reference
    nanobind::object storage, cdata; // the first keeps the second another's
    nanobind::object memory;         // its address
    nanobind::object strides;        // a tuple
    /// A tensor that was made in inference mode has none: nothing holds for it.
    nanobind::object count;
  };

  bool holds(const Stamp &stamp) const;

  std::vector<Stamp> stamps;
  nanobind::object expired;
  uint64_t epoch;
};

} // namespace tenon::python

#endif // TENON_PYTHON_BINDINGS_VERSION_H
