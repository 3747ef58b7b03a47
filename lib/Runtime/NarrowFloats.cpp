//===- NarrowFloats.cpp - Conversions of f16 and bf16 ---------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that generated code may call, for libraries that lack them.
//
//===----------------------------------------------------------------------===//

#include "Api.h"

#include <bit>
#include <cmath>

// To nearest, ties to even.
float __truncsfbf2(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) // a NaN, which must not become infinite
    return std::bit_cast<float>((bits >> 16) | 0x40);
  bits += 0x7fff + ((bits >> 16) & 1);
  return std::bit_cast<float>(bits >> 16);
}

namespace {
/// A format of 16 bits.
struct Format {
  int exponentBits, mantissaBits;
  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  uint32_t infinity() const {
    return ((1u << exponentBits) - 1) << mantissaBits;
  }
};
} // namespace

static constexpr Format kF16{5, 10}, kBF16{8, 7};
static constexpr int kMantissaBits = 52, kBias = 1023; // of f64

/// The magnitude of a finite number: to nearest, ties to even.
static uint32_t roundMagnitude(uint64_t bits, Format format) {
  int exponent = static_cast<int>(bits >> kMantissaBits) - kBias;
  if (exponent > format.bias())
    return format.infinity();
  int least = 1 - format.bias();
  // Of a subnormal, as many more digits are lost as its exponent is less.
  int lost = kMantissaBits - format.mantissaBits +
             (exponent < least ? least - exponent : 0);
  if (lost > kMantissaBits + 1)
    return 0; // f64's own subnormals too
  uint64_t one = uint64_t(1) << kMantissaBits;
  uint64_t digits = (bits & (one - 1)) | one;
  uint64_t half = uint64_t(1) << (lost - 1);
  uint64_t kept = digits >> lost, rest = digits & (2 * half - 1);
  kept += rest > half || (rest == half && (kept & 1));
  // The leading digit is one in the exponent; so is a carry, up to infinity.
  int exponentField = exponent < least ? 0 : exponent - least;
  return (static_cast<uint32_t>(exponentField) << format.mantissaBits) +
         static_cast<uint32_t>(kept);
}

/// A NaN stays one, and of its payload the first digits.
static float roundTo(double value, Format format) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint64_t magnitude = bits & ~(uint64_t(1) << 63);
  uint32_t sign = static_cast<uint32_t>(bits >> 48) & 0x8000;
  uint32_t result =
      std::isnan(value)
          ? static_cast<uint32_t>(magnitude >>
                                      (kMantissaBits - format.mantissaBits) &
                                  ((1u << format.mantissaBits) - 1)) |
                format.infinity() | 1u << (format.mantissaBits - 1)
          : roundMagnitude(magnitude, format);
  return std::bit_cast<float>(sign | result);
}

float __truncdfbf2(double value) { return roundTo(value, kBF16); }
float __truncsfhf2(float value) { return roundTo(value, kF16); }
float __truncdfhf2(double value) { return roundTo(value, kF16); }

float __extendhfsf2(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  if (magnitude >= kF16.infinity()) // exponent and payload
    return std::bit_cast<float>(sign | 0x7f800000 | magnitude << 13);
  constexpr int biases = 127 - 15;
  float extended =
      magnitude >> 10 == 0
          ? static_cast<float>(magnitude) * 0x1p-24f // a subnormal
          : std::bit_cast<float>((magnitude << 13) + (biases << 23));
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(extended));
}
