//===- Scratch.cpp - Memory of a thread -----------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Api.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace {
struct Free {
  void operator()(void *memory) const { free(memory); }
};
struct Buffer {
  std::unique_ptr<void, Free> memory;
  int64_t bytes = 0;
};
} // namespace

static constexpr int64_t kAlignment = 64;

static void *allocate(Buffer &buffer, int64_t bytes) {
  int64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  buffer.memory.reset(); // nothing of it is kept
  buffer.memory.reset(aligned_alloc(static_cast<size_t>(kAlignment),
                                    static_cast<size_t>(rounded)));
  buffer.bytes = buffer.memory ? bytes : 0;
  return buffer.memory.get();
}

void *tenonScratch(int64_t number, int64_t bytes) {
  static thread_local std::vector<Buffer> buffers;
  void *memory = nullptr;
  try {
    if (buffers.size() <= static_cast<size_t>(number))
      buffers.resize(static_cast<size_t>(number) + 1);
    Buffer &buffer = buffers[static_cast<size_t>(number)];
    memory =
        buffer.bytes >= bytes ? buffer.memory.get() : allocate(buffer, bytes);
  } catch (const std::bad_alloc &) {
  }
  if (memory)
    return memory;
  // There is no way out of a task, as there is none from a stack's end.
  fprintf(stderr, "Tenon: a thread has no memory for %lld bytes\n",
          static_cast<long long>(bytes));
  abort();
}
