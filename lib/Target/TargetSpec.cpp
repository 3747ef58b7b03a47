//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of GPU architectures.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/TargetSpec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir::tenon;

static constexpr TargetSpec kTargets[] = {
    {"sm_80", "+ptx70", /*portable=*/true},
    {"sm_86", "+ptx71", /*portable=*/true},
    {"sm_89", "+ptx78", /*portable=*/true},
    {"sm_90", "+ptx78", /*portable=*/true},
    {"sm_90a", "+ptx80", /*portable=*/false},
};

const TargetSpec *mlir::tenon::lookupTarget(llvm::StringRef name) {
  const TargetSpec *spec = llvm::find_if(
      kTargets, [&](const TargetSpec &target) { return target.name == name; });
  return spec == std::end(kTargets) ? nullptr : spec;
}

std::string mlir::tenon::listTargets() {
  return llvm::join(
      llvm::map_range(
          kTargets, [](const TargetSpec &target) { return target.name.str(); }),
      ", ");
}
