//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The GPU architectures that Tenon compiles for.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TARGET_TARGETSPEC_H
#define TENON_TARGET_TARGETSPEC_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::tenon {

/// Facts of one architecture.
struct TargetSpec {
  llvm::StringLiteral name; ///< "sm_90a"
  /// Version of PTX written for it, as LLVM spells it: the oldest that has what
  /// kernels use, so that older drivers take it.
  llvm::StringLiteral ptxFeature;
  /// Whether PTX for it runs on later GPUs too.
  bool portable;
};

/// Null if the architecture is not known.
const TargetSpec *lookupTarget(llvm::StringRef name);

/// The names of all known architectures, for messages.
std::string listTargets();

} // namespace mlir::tenon

#endif // TENON_TARGET_TARGETSPEC_H
