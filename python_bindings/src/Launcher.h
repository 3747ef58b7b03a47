//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that the manifest says of a function's tensors, put into DLTensors once.
// A call copies them to its stack, so that threads may share a launcher.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PYTHON_BINDINGS_LAUNCHER_H
#define TENON_PYTHON_BINDINGS_LAUNCHER_H

#include "Native.h"

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace tenon::python {

struct Launcher {
  Launcher(ModelPtr model, TenonFunction *function,
           const nanobind::dict &description, DLDevice device);

  size_t numTensors() const { return tensors.size(); }

  ModelPtr model;
  TenonFunction *function;
  std::string name;
  std::vector<std::string> tensorNames;
  /// Inputs, then outputs; `data` and `shape` are each call's own.
  std::vector<DLTensor> tensors;
  int32_t numInputs;
  /// The shapes of all tensors, one after the other; 0 where dynamic.
  std::vector<int64_t> extents;
  /// Where in `extents` the value of a symbol goes.
  struct Dynamic {
    size_t position, symbol;
  };
  std::vector<Dynamic> dynamic;
  std::vector<std::string> symbols;

  /// The last answer of workspaceBytes; the interpreter's lock guards it.
  std::vector<int64_t> sizedFor;
  size_t sized = 0;
  bool isSized = false;

private:
  void add(nanobind::handle tensor, DLDevice device);
  size_t symbolNumber(const std::string &symbol);
};

/// The tensors of one call, on the stack up to some 50 of them.
class Frame {
public:
  Frame(const Launcher &launcher) {
    size_t count = launcher.numTensors(), numExtents = launcher.extents.size();
    size_t bytes = count * (sizeof(DLTensor) + sizeof(DLTensor *)) +
                   numExtents * sizeof(int64_t);
    if (bytes > sizeof(inlined))
      heap = std::make_unique<std::byte[]>(bytes);
    tensors = reinterpret_cast<DLTensor *>(heap ? heap.get() : inlined);
    pointers = reinterpret_cast<DLTensor **>(tensors + count);
    extents = reinterpret_cast<int64_t *>(pointers + count);
    memcpy(tensors, launcher.tensors.data(), count * sizeof(DLTensor));
    memcpy(extents, launcher.extents.data(), numExtents * sizeof(int64_t));
    int64_t *shape = extents;
    for (size_t i = 0; i < count; ++i) {
      pointers[i] = &tensors[i];
      tensors[i].shape = shape;
      shape += tensors[i].ndim;
    }
  }

  /// Gives a symbol its value.
  void setExtent(const Launcher &launcher, size_t symbol, int64_t extent) {
    for (const Launcher::Dynamic &dynamic : launcher.dynamic)
      if (dynamic.symbol == symbol)
        extents[dynamic.position] = extent;
  }

  /// Asks for the workspace of a call whose extents are set.
  TenonStatus workspaceBytes(const Launcher &launcher, size_t &bytes) const {
    return tenonFunctionWorkspaceSize(launcher.function, pointers,
                                      launcher.numInputs, &bytes);
  }

  /// Runs the function; pointers and extents are set.
  TenonStatus run(const Launcher &launcher, void *workspace, size_t bytes,
                  void *stream) const {
    return tenonFunctionRun(launcher.function, pointers, launcher.numInputs,
                            pointers + launcher.numInputs,
                            static_cast<int32_t>(launcher.numTensors()) -
                                launcher.numInputs,
                            workspace, bytes, stream);
  }

  DLTensor *tensors;
  DLTensor **pointers;
  int64_t *extents;

private:
  std::unique_ptr<std::byte[]> heap;
  alignas(DLTensor) std::byte inlined[4096]; // left uninitialised
};

} // namespace tenon::python

#endif // TENON_PYTHON_BINDINGS_LAUNCHER_H
