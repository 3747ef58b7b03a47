//===- Bfloat16.cpp - Rounding to bf16, for libraries that lack it --------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// __truncsfbf2, which generated code may call.
//
//===----------------------------------------------------------------------===//

#include "Api.h"

#include <bit>

// To nearest, ties to even.
float __truncsfbf2(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) // a NaN, which must not become infinite
    return std::bit_cast<float>((bits >> 16) | 0x40);
  bits += 0x7fff + ((bits >> 16) & 1);
  return std::bit_cast<float>(bits >> 16);
}
