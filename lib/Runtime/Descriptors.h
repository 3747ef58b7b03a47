//===- Descriptors.h - Tensors as generated code sees them ------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_DESCRIPTORS_H
#define TENON_LIB_RUNTIME_DESCRIPTORS_H

#include "Manifest.h"

#include <memory>

namespace tenon::runtime {

/// The memref descriptors of one call, and the pointers to them. On the stack
/// up to 32 KB, which is some 500 matrices.
class Descriptors {
public:
  explicit Descriptors(const FunctionInfo &function) {
    static_assert(sizeof(void *) == sizeof(int64_t));
    size_t words = function.numTensors + function.descriptorWords;
    if (words > kInlineWords)
      heap = std::make_unique<int64_t[]>(words);
    pointers = reinterpret_cast<void **>(heap ? heap.get() : inlined);
    next = reinterpret_cast<int64_t *>(pointers + function.numTensors);
  }

  /// Appends a tensor that has been checked.
  void add(const DLTensor &tensor) {
    add(tensor.ndim,
        reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset,
        [&](int32_t i) { return tensor.shape[i]; });
  }
  /// Appends a tensor of fixed extents.
  void add(const std::vector<Dimension> &shape, const void *data) {
    add(static_cast<int32_t>(shape.size()), reinterpret_cast<uintptr_t>(data),
        [&](int32_t i) { return shape[i].extent; });
  }

  void **pointers;

private:
  template <typename Extent>
  void add(int32_t rank, uintptr_t data, Extent &&extent) {
    int64_t *words = next;
    pointers[count++] = words;
    words[0] = words[1] = static_cast<int64_t>(data);
    words[2] = 0;
    int64_t *sizes = words + 3, *strides = sizes + rank;
    int64_t stride = 1;
    for (int32_t i = rank - 1; i >= 0; --i) {
      sizes[i] = extent(i);
      strides[i] = stride;
      // An extent of 0 would make all outer strides 0; MLIR's own are not.
      stride *= sizes[i] ? sizes[i] : 1;
    }
    next = strides + rank;
  }

  static constexpr size_t kInlineWords = 4096;
  int64_t *next;
  size_t count = 0;
  std::unique_ptr<int64_t[]> heap;
  int64_t inlined[kInlineWords]; // left uninitialised
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_DESCRIPTORS_H
