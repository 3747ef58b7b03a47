//===- NarrowFloatsTest.cpp - Conversions of f16 and bf16 -----------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tenon/Runtime/Runtime.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

static uint32_t roundBits(uint32_t bits) {
  return std::bit_cast<uint32_t>(__truncsfbf2(std::bit_cast<float>(bits)));
}

TEST(Bfloat16, KeepsWhatABf16Holds) {
  for (uint32_t high = 0; high <= 0x7f80; ++high) {
    EXPECT_EQ(roundBits(high << 16), high);
    EXPECT_EQ(roundBits((high | 0x8000) << 16), high | 0x8000);
  }
}

TEST(Bfloat16, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(roundBits(0x3f807fff), 0x3f80u);
  EXPECT_EQ(roundBits(0x3f808000), 0x3f80u);
  EXPECT_EQ(roundBits(0x3f808001), 0x3f81u);
  EXPECT_EQ(roundBits(0x3f818000), 0x3f82u);
  EXPECT_EQ(roundBits(0x7f7fffff), 0x7f80u); // overflows to infinity
}

TEST(Bfloat16, KeepsNaN) {
  EXPECT_EQ(roundBits(0x7f800001), 0x7fc0u); // its payload is in the lower half
  EXPECT_EQ(roundBits(0xffc00000), 0xffc0u);
}

namespace {
/// What a function leaves in the low half of a register.
uint32_t low(float value) { return std::bit_cast<uint32_t>(value) & 0xffff; }

float extend(uint32_t half) { // what is above does not count
  return __extendhfsf2(std::bit_cast<float>(half | 0xabcd0000));
}

/// The value of an f16 by its definition.
double valueOf(uint32_t half) {
  int exponent = static_cast<int>(half >> 10 & 31);
  int digits = static_cast<int>(half & 1023) + (exponent ? 1024 : 0);
  double magnitude = exponent == 31
                         ? std::numeric_limits<double>::infinity()
                         : std::ldexp(digits, std::max(exponent, 1) - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}
} // namespace

TEST(Float16, EveryValueIsExtendedAndKept) {
  for (uint32_t half = 0; half <= 0xffff; ++half) {
    if ((half & 0x7fff) > 0x7c00) {
      EXPECT_TRUE(std::isnan(extend(half)));
      EXPECT_EQ(low(__truncsfhf2(extend(half))), half | 0x200);
      continue;
    }
    EXPECT_EQ(extend(half), valueOf(half));
    EXPECT_EQ(std::signbit(extend(half)), half >> 15 != 0);
    EXPECT_EQ(low(__truncsfhf2(extend(half))), half);
    EXPECT_EQ(low(__truncdfhf2(valueOf(half))), half);
  }
}

TEST(Float16, BetweenTwoTheEvenOne) {
  for (uint32_t half = 0; half < 0x7bff; ++half) {
    double middle = (valueOf(half) + valueOf(half + 1)) / 2;
    double above = std::nextafter(middle, 1e6),
           below = std::nextafter(middle, -1);
    EXPECT_EQ(low(__truncdfhf2(middle)), half + (half & 1));
    EXPECT_EQ(low(__truncsfhf2(static_cast<float>(middle))), half + (half & 1));
    EXPECT_EQ(low(__truncdfhf2(above)), half + 1); // rounded once
    EXPECT_EQ(low(__truncdfhf2(-below)), half | 0x8000);
  }
}

TEST(Float16, WhatIsTooLargeIsInfinite) {
  EXPECT_EQ(low(__truncdfhf2(65519.99)), 0x7bffu);
  EXPECT_EQ(low(__truncdfhf2(65520.0)), 0x7c00u);
  EXPECT_EQ(low(__truncdfhf2(-1e300)), 0xfc00u);
  EXPECT_EQ(low(__truncdfhf2(5e-324)), 0u);
  EXPECT_EQ(low(__truncsfhf2(-0.0f)), 0x8000u);
}

TEST(Bfloat16, OfF64IsRoundedOnce) {
  for (uint32_t high = 0; high < 0x7f7f; ++high) {
    double value = std::bit_cast<float>(high << 16);
    double middle = (value + std::bit_cast<float>((high + 1) << 16)) / 2;
    EXPECT_EQ(low(__truncdfbf2(value)), high);
    EXPECT_EQ(low(__truncdfbf2(middle)), high + (high & 1));
    EXPECT_EQ(low(__truncdfbf2(std::nextafter(middle, 1e300))), high + 1);
    EXPECT_EQ(low(__truncdfbf2(std::nextafter(middle, 0))), high);
  }
  EXPECT_EQ(low(__truncdfbf2(-std::numeric_limits<double>::infinity())),
            0xff80u);
  EXPECT_EQ(low(__truncdfbf2(std::nan(""))), 0x7fc0u);
}
