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
  /// Whether kernels of family mma_sync run on it.
  bool hasMmaSync;
  /// Whether kernels of family wgmma run on it.
  bool hasWgmma;
  /// Whether it has instructions that convert f8E4M3FN.
  bool convertsBytes;
  /// Bytes of shared memory that a block may ask for, and that a multiprocessor
  /// has for all of its blocks, kReservedSharedBytes a block included.
  int64_t sharedBytesPerBlock, sharedBytesPerMultiprocessor;
  /// 32-bit registers of a multiprocessor.
  int64_t registersPerMultiprocessor;

  // What the choice of strategy reckons with: a usual GPU of the architecture.
  /// Multiprocessors.
  int64_t multiprocessors;
  /// Bytes a second between memory and multiprocessors, and bytes of L2.
  double memoryRate;
  int64_t l2Bytes;
  /// Operations a second of mma.sync, a product and a sum counted as two.
  struct Rates {
    double bits16; ///< f16 and bf16, accumulated in f32
    double tf32;
    double bits8 = 0; ///< f8, if any
  } mmaSyncRate;
  /// The same of wgmma; 0 without.
  Rates wgmmaRate;
  /// The same of fused multiply-adds in f32, without tensor cores.
  double fmaRate;
  /// The same of mma.sync in f64.
  double f64Rate;
  /// The same, of cuBLAS's large products, and of those in fp32 (SGEMM).
  Rates libraryRate;
  double libraryFp32Rate;
};

/// Bytes of shared memory that the driver keeps for each resident block.
inline constexpr int64_t kReservedSharedBytes = 1024;

/// Null if the architecture is not known.
const TargetSpec *lookupTarget(llvm::StringRef name);

/// The newest architecture whose PTX later GPUs run.
const TargetSpec &getNewestPortableTarget();

/// The names of all known architectures, for messages.
std::string listTargets();

} // namespace mlir::tenon

#endif // TENON_TARGET_TARGETSPEC_H
