//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `#tenon.schedule` holds. Its text, its hash and its comparison are made
// from this list alone; TenonAttrs.td says what the keys mean. Tenon.h includes
// it, behind the enums.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_SCHEDULEPARAMETERS_H
#define TENON_DIALECT_TENON_IR_SCHEDULEPARAMETERS_H

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"

#include <array>

namespace mlir::tenon {

/// Keys that a schedule always has are 0 until they are set, which no schedule
/// may hold; the others are written where they differ from what they are here.
struct ScheduleParameters {
  KernelFamily family = KernelFamily::MmaSync;
  std::array<int64_t, 3> tile{};
  std::array<int64_t, 2> warps{};
  int64_t stages = 0, swizzle = 0, raster = 0, blocks = 0;
  bool streamK = false;
  std::array<int64_t, 2> cluster{1, 1};
  bool pingPong = false, defer = false;
  int64_t weights = 1, siblings = 1, terms = 1;
  ProductMethod method = ProductMethod::Direct;
  ReductionMethod reduction = ReductionMethod::Separate;

  bool operator==(const ScheduleParameters &) const = default;

  /// Calls `visit` with the name and the member of each key, in the order in
  /// which they are written. The family has none: text begins with it.
  template <typename Visitor> static void forEachKey(Visitor visit) {
    visit("tile", &ScheduleParameters::tile);
    visit("warps", &ScheduleParameters::warps);
    visit("stages", &ScheduleParameters::stages);
    visit("swizzle", &ScheduleParameters::swizzle);
    visit("raster", &ScheduleParameters::raster);
    visit("blocks", &ScheduleParameters::blocks);
    visit("stream_k", &ScheduleParameters::streamK);
    visit("cluster", &ScheduleParameters::cluster);
    visit("ping_pong", &ScheduleParameters::pingPong);
    visit("defer", &ScheduleParameters::defer);
    visit("weights", &ScheduleParameters::weights);
    visit("siblings", &ScheduleParameters::siblings);
    visit("terms", &ScheduleParameters::terms);
    visit("method", &ScheduleParameters::method);
    visit("reduction", &ScheduleParameters::reduction);
  }
};

inline llvm::hash_code hash_value(const ScheduleParameters &parameters) {
  llvm::hash_code hash = llvm::hash_value(parameters.family);
  ScheduleParameters::forEachKey([&](llvm::StringRef, auto member) {
    const auto &value = parameters.*member;
    if constexpr (requires { value.size(); })
      hash = llvm::hash_combine(
          hash, llvm::hash_combine_range(value.begin(), value.end()));
    else
      hash = llvm::hash_combine(hash, value);
  });
  return hash;
}

} // namespace mlir::tenon

#endif // TENON_DIALECT_TENON_IR_SCHEDULEPARAMETERS_H
