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

/// Of cuBLAS where it is built on mma.sync and was not measured: the usual part
/// of the instruction's rate.
static constexpr double kLibraryShare = 0.85;

static constexpr TargetSpec::Rates shareOf(TargetSpec::Rates rates) {
  return {kLibraryShare * rates.bits16, kLibraryShare * rates.tf32,
          kLibraryShare * rates.bits8};
}

// Limits: NVIDIA, CUDA Programming Guide, compute capabilities. Rates of sm_80,
// sm_86 and sm_89: NVIDIA's data sheets of the A100 (memory: what a copy
// reaches), the A40 and the RTX 4090. Those of sm_90: measured on an H200, but
// for wgmma, fused multiply-adds and f64, which are the data sheet's. What
// power takes from large products of wgmma is in WgmmaHeuristics.cpp.
static constexpr TargetSpec::Rates kA100{312e12, 156e12};
static constexpr TargetSpec::Rates kA40{149.7e12, 74.8e12};
static constexpr TargetSpec::Rates kRtx4090{165.2e12, 82.6e12, 330.3e12};
static constexpr TargetSpec::Rates kH200{638e12, 320e12};
static constexpr TargetSpec::Rates kH200Wgmma{989e12, 494.5e12, 1979e12};
static constexpr TargetSpec::Rates kH200Library{824e12, 400e12, 1427e12};
static constexpr double kA100Fma = 19.5e12, kA40Fma = 37.4e12,
                        kRtx4090Fma = 82.6e12, kH200Fma = 67e12,
                        kH200Sgemm = 51e12;
static constexpr double kA100F64 = 19.5e12, kA40F64 = 0.58e12,
                        kRtx4090F64 = 1.29e12, kH200F64 = 67e12;

// clang-format off
static constexpr TargetSpec kTargets[] = {
    // name, PTX, portable, mma_sync, wgmma, conversions of 8 bits, shared memory of a block and of a
    // multiprocessor, registers, multiprocessors, memory, L2, mma.sync, wgmma,
    // fused multiply-adds, f64, cuBLAS, its fp32
    {"sm_80", "+ptx74", true, true, false, false, 166912, 167936, 65536, 108, 1.9e12, 40 << 20, kA100, {}, kA100Fma, kA100F64, shareOf(kA100), kLibraryShare * kA100Fma},
    {"sm_86", "+ptx74", true, true, false, false, 101376, 102400, 65536, 84, 0.696e12, 6 << 20, kA40, {}, kA40Fma, kA40F64, shareOf(kA40), kLibraryShare * kA40Fma},
    {"sm_89", "+ptx84", true, true, false, true, 101376, 102400, 65536, 128, 1.008e12, 72 << 20, kRtx4090, {}, kRtx4090Fma, kRtx4090F64, shareOf(kRtx4090), kLibraryShare * kRtx4090Fma},
    {"sm_90", "+ptx78", true, true, false, true, 232448, 233472, 65536, 132, 4.1e12, 50 << 20, kH200, {}, kH200Fma, kH200F64, kH200Library, kH200Sgemm},
    {"sm_90a", "+ptx80", false, true, true, true, 232448, 233472, 65536, 132, 4.1e12, 50 << 20, kH200, kH200Wgmma, kH200Fma, kH200F64, kH200Library, kH200Sgemm},
};
// clang-format on

const TargetSpec *mlir::tenon::lookupTarget(llvm::StringRef name) {
  const TargetSpec *spec = llvm::find_if(
      kTargets, [&](const TargetSpec &target) { return target.name == name; });
  return spec == std::end(kTargets) ? nullptr : spec;
}

const TargetSpec &mlir::tenon::getNewestPortableTarget() {
  return *llvm::find_if(llvm::reverse(kTargets), [](const TargetSpec &target) {
    return target.portable;
  });
}

std::string mlir::tenon::listTargets() {
  return llvm::join(
      llvm::map_range(
          kTargets, [](const TargetSpec &target) { return target.name.str(); }),
      ", ");
}
