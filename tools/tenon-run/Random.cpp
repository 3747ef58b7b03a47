//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random inputs: the SplitMix64 generator, whose n-th number needs no earlier
// one, seeded by the seed and the tensor's name. The standard library's
// distributions differ between libraries.
//
//===----------------------------------------------------------------------===//

#include "Random.h"

#include <cmath>

using namespace tenon::run;

static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

void tenon::run::fillRandom(Tensor &host, bool isParameter, uint64_t seed) {
  uint64_t start = mix(seed + kStep);
  for (unsigned char letter : host.name)
    start = mix(start ^ letter) + kStep;

  double low = -1, width = 2;
  if (host.name.find("var") != std::string::npos) {
    low = 0.5; // variances are positive
    width = 1;
  } else if (isParameter && host.shape.size() == 2 && host.shape[1] > 0) {
    low = -1 / std::sqrt(static_cast<double>(host.shape[1]));
    width = -2 * low;
  }
  for (int64_t i = 0, e = host.count(); i != e; ++i) {
    // 53 bits, all that a double in [0, 1) has.
    double unit = static_cast<double>(mix(start + i * kStep) >> 11) * 0x1p-53;
    host.set(i, low + width * unit);
  }
}
