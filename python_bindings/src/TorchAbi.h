//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the op takes of PyTorch's stable C ABI, found in the process at run
// time: the module is built without PyTorch and works with any that has these.
// The declarations are those of torch/csrc/stable/c/shim.h and
// torch/csrc/inductor/aoti_torch/c/shim.h.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PYTHON_BINDINGS_TORCHABI_H
#define TENON_PYTHON_BINDINGS_TORCHABI_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace tenon::python {

/// A value on the stack of a boxed kernel: a number, or a handle that the
/// kernel owns.
using StableIValue = uint64_t;
using TorchTensor = struct TorchTensorOpaque *;
using TorchList = struct TorchListOpaque *;
using TorchString = struct TorchStringOpaque *;
using TorchLibrary = struct TorchLibraryOpaque *;
/// 0 is success.
using TorchError = int32_t;
using TorchKernel = void (*)(StableIValue *stack, uint64_t numInputs,
                             uint64_t numOutputs);

/// The version whose conversions of values the kernel is written for.
inline constexpr uint64_t kTorchVersion = 2ull << 56 | 10ull << 48;

struct TorchAbi {
  /// The functions of the PyTorch in this process; null where it has not all.
  static const TorchAbi *get();

  TorchError (*initLibrary)(const char *space, const char *key,
                            const char *file, uint32_t line,
                            TorchLibrary *library);
  TorchError (*implement)(TorchLibrary library, const char *name,
                          TorchKernel kernel, uint64_t version);
  TorchError (*callDispatcher)(const char *name, const char *overload,
                               StableIValue *stack, uint64_t version);
  TorchError (*listSize)(TorchList list, size_t *size);
  TorchError (*listItem)(TorchList list, size_t index, StableIValue *element);
  /// Leaves the elements alone.
  TorchError (*deleteList)(TorchList list);
  TorchError (*stringLength)(TorchString string, size_t *length);
  TorchError (*stringData)(TorchString string, const char **data);
  TorchError (*deleteString)(TorchString string);
  TorchError (*mutableData)(TorchTensor tensor, void **data);
  TorchError (*constData)(TorchTensor tensor, const void **data);
  TorchError (*numel)(TorchTensor tensor, int64_t *numel);
  TorchError (*isContiguous)(TorchTensor tensor, bool *isContiguous);
  TorchError (*deviceIndex)(TorchTensor tensor, int32_t *index);
  TorchError (*emptyStrided)(int64_t rank, const int64_t *sizes,
                             const int64_t *strides, int32_t dtype,
                             int32_t deviceType, int32_t deviceIndex,
                             TorchTensor *tensor);
  TorchError (*deleteTensor)(TorchTensor tensor);
  int32_t (*uint8)();
  int32_t (*cpu)();
  int32_t (*cuda)();
  /// Null in a PyTorch without CUDA.
  TorchError (*currentCudaStream)(int32_t deviceIndex, void **stream);
};

/// The text of a string, which is deleted with this.
class StringArgument {
public:
  StringArgument(const TorchAbi &abi, StableIValue value)
      : abi(abi), handle(reinterpret_cast<TorchString>(value)) {}
  StringArgument(const StringArgument &) = delete;
  ~StringArgument() { abi.deleteString(handle); }

  std::string_view text() const {
    const char *data = nullptr;
    size_t length = 0;
    if (abi.stringData(handle, &data) || abi.stringLength(handle, &length))
      return {};
    return {data, length};
  }

private:
  const TorchAbi &abi;
  TorchString handle;
};

/// A list of tensors; list and tensors are deleted with this, unless they were
/// released.
class ListArgument {
public:
  ListArgument(const TorchAbi &abi, StableIValue value);
  ListArgument(const ListArgument &) = delete;
  ~ListArgument();

  size_t size() const { return count; }
  TorchTensor operator[](size_t i) const { return tensors[i]; }

  /// Gives away what the argument owns.
  StableIValue release() {
    isOwned = false;
    return reinterpret_cast<StableIValue>(handle);
  }

private:
  const TorchAbi &abi;
  TorchList handle;
  size_t count = 0;
  bool isOwned = true;
  TorchTensor *tensors;
  std::unique_ptr<TorchTensor[]> heap;
  TorchTensor inlined[32];
};

/// Memory on a device that a function works in, aligned as it asks, freed with
/// this. On a GPU PyTorch gives it out again only behind the work of the
/// current stream.
class Workspace {
public:
  /// On the CPU if the index is negative.
  Workspace(const TorchAbi &abi, int32_t deviceIndex, size_t bytes);
  Workspace(const Workspace &) = delete;
  ~Workspace();

  void *data() const { return aligned; }

private:
  const TorchAbi &abi;
  TorchTensor tensor = nullptr;
  void *aligned = nullptr;
};

} // namespace tenon::python

#endif // TENON_PYTHON_BINDINGS_TORCHABI_H
