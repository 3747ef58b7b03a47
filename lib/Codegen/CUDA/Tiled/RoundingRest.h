//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What rounding leaves of a number, in a few bits.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CUDA_TILED_ROUNDINGREST_H
#define TENON_LIB_CODEGEN_CUDA_TILED_ROUNDINGREST_H

#include "Codegen/CUDA/Emit/KernelBuilder.h"

namespace mlir::tenon {

/// Bits of a rest: 64th parts of a unit in the last place, of either sign.
inline constexpr int64_t kRestBits = 8;
inline constexpr int64_t kRestMask = (1 << kRestBits) - 1;

/// An i32 of kRestBits for what `rounded`, an f32, lacks of a sum: `rest`, at
/// most 1.5 units in the last place of `rounded` (SplitSum.h).
///
/// Means of rows that are a million times their deviation differ by rounding as
/// much as by what their rows are. With these bits they do by a 64th of that.
Value encodeRest(KernelBuilder &b, Value rounded, Value rest);

/// The rest, from the low kRestBits of `bits`, an i32; others may be set.
Value decodeRest(KernelBuilder &b, Value rounded, Value bits);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_CUDA_TILED_ROUNDINGREST_H
