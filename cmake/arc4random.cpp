//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What LLVM and libstdc++ of Debian 12 take from its C library, and older ones
// have not: random bits.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <sys/random.h>

extern "C" __attribute__((visibility("hidden"))) uint32_t
arc4random() noexcept {
  uint32_t bits = 0;
  // Of so few bytes there are all or none.
  (void)!getrandom(&bits, sizeof(bits), /*flags=*/0);
  return bits;
}
