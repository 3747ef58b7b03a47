//===- Bfloat16Test.cpp - Rounding to bf16 --------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tenon/Runtime/Runtime.h"

#include <bit>
#include <gtest/gtest.h>

static uint32_t round(uint32_t bits) {
  return std::bit_cast<uint32_t>(__truncsfbf2(std::bit_cast<float>(bits)));
}

TEST(Bfloat16, KeepsWhatABf16Holds) {
  for (uint32_t high = 0; high <= 0x7f80; ++high) {
    EXPECT_EQ(round(high << 16), high);
    EXPECT_EQ(round((high | 0x8000) << 16), high | 0x8000);
  }
}

TEST(Bfloat16, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(round(0x3f807fff), 0x3f80u);
  EXPECT_EQ(round(0x3f808000), 0x3f80u);
  EXPECT_EQ(round(0x3f808001), 0x3f81u);
  EXPECT_EQ(round(0x3f818000), 0x3f82u);
  EXPECT_EQ(round(0x7f7fffff), 0x7f80u); // overflows to infinity
}

TEST(Bfloat16, KeepsNaN) {
  EXPECT_EQ(round(0x7f800001), 0x7fc0u); // its payload is in the lower half
  EXPECT_EQ(round(0xffc00000), 0xffc0u);
}
