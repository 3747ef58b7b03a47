//===- BlasLtPlan.h - cuBLASLt descriptors, kept ----------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan names a product but for M and the pointers; cuBLASLt needs both to
// choose an algorithm. Its choice costs tens of microseconds, so it is asked
// once for each plan, M and alignment on a device. Plans are told apart by
// address: the cache belongs to a device of one model, and dies with it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_BLASLTPLAN_H
#define TENON_LIB_RUNTIME_BLASLTPLAN_H

#include "CublasLt.h"

#include <shared_mutex>
#include <unordered_map>

namespace tenon::runtime {

/// The pointers of one product, in the roles that cuBLASLt gives them.
struct PlanPointers {
  const void *x, *w, *xScale, *wScale, *bias, *c;
  void *y;
};

struct PlanKey {
  const TenonBlasLtPlan *plan;
  int64_t m;
  uint64_t alignments; ///< log2 of each pointer's alignment, 4 bits each
  bool operator==(const PlanKey &) const = default;
};

/// Everything a launch needs. Descriptors are plain memory made in place, so a
/// call copies them and sets its own pointers; nothing is shared.
struct PreparedPlan {
  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t w, x, y;
  cublasLtMatmulAlgo_t algorithm;
};

/// Alignment of a pointer as far as cuBLASLt cares, log2: 0 to 8.
inline unsigned alignmentLog2(const void *pointer) {
  return __builtin_ctzll(reinterpret_cast<uintptr_t>(pointer) | 256);
}

class PlanCache {
public:
  /// Copies the entry of `key` to `plan`; on a miss `prepare(plan)` fills it,
  /// once even if several threads miss together.
  template <typename Prepare>
  TenonStatus find(const PlanKey &key, PreparedPlan &plan, Prepare &&prepare) {
    {
      std::shared_lock<std::shared_mutex> lock(mutex);
      if (lookUp(key, plan))
        return TENON_OK;
    }
    std::lock_guard<std::shared_mutex> lock(mutex);
    if (lookUp(key, plan))
      return TENON_OK;
    if (TenonStatus status = prepare(plan))
      return status;
    // A server that sees every M would grow it without end.
    if (entries.size() >= kMaxEntries)
      entries.clear();
    entries.emplace(key, plan);
    return TENON_OK;
  }

private:
  static constexpr size_t kMaxEntries = 8192; // some 6 MB

  struct Hash {
    size_t operator()(const PlanKey &key) const {
      uint64_t hash = reinterpret_cast<uintptr_t>(key.plan);
      hash = (hash ^ static_cast<uint64_t>(key.m)) * 0x9E3779B97F4A7C15u;
      hash = (hash ^ (hash >> 32) ^ key.alignments) * 0x9E3779B97F4A7C15u;
      return hash ^ (hash >> 29);
    }
  };

  bool lookUp(const PlanKey &key, PreparedPlan &plan) const {
    auto found = entries.find(key);
    if (found == entries.end())
      return false;
    plan = found->second;
    return true;
  }

  std::shared_mutex mutex;
  std::unordered_map<PlanKey, PreparedPlan, Hash> entries;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_BLASLTPLAN_H
