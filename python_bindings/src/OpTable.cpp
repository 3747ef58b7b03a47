//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpTable.h"

using namespace tenon::python;

/// Mixes some 16 to 32 words of eight bytes from all over the text: a call
/// computes it, and texts are compared in full anyway.
static uint64_t hashOf(std::string_view text) {
  uint64_t hash = text.size();
  size_t step = text.size() < 256 ? 8 : text.size() / 128 * 8;
  for (size_t i = 0; i + 8 <= text.size(); i += step) {
    uint64_t word;
    memcpy(&word, text.data() + i, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

/// The first function of that text between `list` and `end`.
static OpFunction *findIn(OpFunction *list, const OpFunction *end,
                          uint64_t hash, std::string_view text) {
  for (; list != end; list = list->next)
    if (list->hash == hash && list->text == text)
      return list;
  return nullptr;
}

OpTable &OpTable::get() {
  static OpTable *table = new OpTable; // calls may outlive static objects
  return *table;
}

OpFunction &OpTable::function(std::string_view text) {
  uint64_t hash = hashOf(text);
  std::atomic<OpFunction *> &bucket = buckets[hash % std::size(buckets)];
  OpFunction *first = bucket.load(std::memory_order_acquire);
  if (OpFunction *found = findIn(first, nullptr, hash, text))
    return *found;
  auto added = std::unique_ptr<OpFunction>(
      new OpFunction{std::string(text), hash, count.fetch_add(1)});
  added->next = first;
  while (!bucket.compare_exchange_weak(added->next, added.get(),
                                       std::memory_order_acq_rel)) {
    // Other threads have put functions before those that were looked at.
    if (OpFunction *found = findIn(added->next, first, hash, text))
      return *found;
    first = added->next;
  }
  return *added.release();
}

const OpFunction *OpTable::function(int64_t number) const {
  for (const std::atomic<OpFunction *> &bucket : buckets)
    for (const OpFunction *function = bucket.load(std::memory_order_acquire);
         function; function = function->next)
      if (function->number == number)
        return function;
  return nullptr;
}

void OpTable::add(OpFunction &function, std::unique_ptr<Binding> binding) {
  binding->next = function.bindings.load(std::memory_order_relaxed);
  while (!function.bindings.compare_exchange_weak(binding->next, binding.get(),
                                                  std::memory_order_acq_rel))
    ;
  binding.release();
}
