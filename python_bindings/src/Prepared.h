//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Python has made of parameters, for the op's kernel to read.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PYTHON_BINDINGS_PREPARED_H
#define TENON_PYTHON_BINDINGS_PREPARED_H

#include "Version.h"

#include <map>
#include <memory>
#include <vector>

namespace tenon::python {

/// What was made of one version of some parameters. The interpreter's lock
/// guards all but the pointers, which are read without.
struct Prepared {
  /// True if the parameters are as they were, nobody is about to overwrite
  /// this, and work on the stream finds it made.
  bool isFor(void *stream) const;

  nanobind::object version; // a Version
  nanobind::object tensors; // keeps their memory
  std::vector<void *> pointers;
  std::vector<void *> streams;
  bool hasEnded = false;
};

/// Deletes with the interpreter's lock.
using PreparedPtr = std::shared_ptr<const Prepared>;

/// What is prepared for one function on one device, by the parameters'
/// identities. Python keeps it, and lets go of it when a parameter is gone. The
/// interpreter's lock guards the table.
class PreparedTable {
public:
  using Key = std::vector<const void *>;

  void add(Key key, const PreparedPtr &prepared);

  /// Null if nothing is, or it is not for the stream.
  PreparedPtr find(const Key &key, void *stream) const;

private:
  std::map<Key, std::weak_ptr<const Prepared>> known;
};

/// Prepared to Python.
struct PreparedHandle {
  std::shared_ptr<Prepared> prepared;
};

} // namespace tenon::python

#endif // TENON_PYTHON_BINDINGS_PREPARED_H
