//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that the op was called with, and how to run them. It only
// grows, and is read without a lock: calls come from any thread, without the
// interpreter's lock, and from children forked at any time.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PYTHON_BINDINGS_OPTABLE_H
#define TENON_PYTHON_BINDINGS_OPTABLE_H

#include "Launcher.h"
#include "Prepared.h"

#include <atomic>
#include <string_view>

namespace tenon::python {

/// How to run a function on one device.
struct Binding {
  /// The value of a symbol: the elements of an input of the op, divided.
  struct Extent {
    uint32_t input;
    int64_t width;
  };

  /// A copy: it keeps the model, and no Python object.
  Launcher launcher;
  int32_t deviceIndex; // -1 is the CPU
  size_t numInputs;    // the op's
  /// Which input of the op each input of the launcher is; behind these, which
  /// of the tensors that were prepared.
  std::vector<uint32_t> sources;
  /// The op's inputs of which something is prepared.
  std::vector<uint32_t> parameters;
  std::vector<Extent> extents;
  /// What a call needs where no extent is dynamic.
  size_t staticBytes = 0;
  PreparedTable prepared;
  Binding *next = nullptr;
};

/// A function that the op was called with.
struct OpFunction {
  std::string text;
  uint64_t hash;
  int64_t number;
  std::atomic<Binding *> bindings{nullptr}; // a list
  OpFunction *next = nullptr;

  Binding *find(int32_t deviceIndex) const {
    Binding *binding = bindings.load(std::memory_order_acquire);
    while (binding && binding->deviceIndex != deviceIndex)
      binding = binding->next;
    return binding;
  }
};

class OpTable {
public:
  static OpTable &get();

  /// The function of that text, which is added if it is new.
  OpFunction &function(std::string_view text);

  /// The function with that number, or null.
  const OpFunction *function(int64_t number) const;

  /// Has calls of `function` on the binding's device run by it.
  static void add(OpFunction &function, std::unique_ptr<Binding> binding);

private:
  std::atomic<OpFunction *> buckets[1024] = {}; // each a list
  std::atomic<int64_t> count{0};
};

} // namespace tenon::python

#endif // TENON_PYTHON_BINDINGS_OPTABLE_H
