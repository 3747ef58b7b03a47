//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measurement of a call's time. A call from idle pays for its launch; calls
// back to back hide that behind their predecessors.
//
//===----------------------------------------------------------------------===//

#include "Timing.h"

#include <algorithm>
#include <chrono>

using namespace tenon::run;

static constexpr int kWarmUpCalls = 3;
static constexpr int kBackToBack = 10;

static void print(const char *what, std::vector<double> times,
                  const char *unit) {
  std::sort(times.begin(), times.end());
  size_t half = times.size() / 2;
  double median =
      times.size() % 2 ? times[half] : (times[half - 1] + times[half]) / 2;
  printf("%s: median %.4g %s, min %.4g %s, max %.4g %s (%zu calls)\n", what,
         median, unit, times.front(), unit, times.back(), unit, times.size());
}

static void timeGpu(Call &call, Device &device, int count) {
  std::vector<double> fromIdle, backToBack, host;
  for (int i = 0; i < count; ++i) {
    device.synchronize();
    fromIdle.push_back(device.time([&] { call(); }));
  }
  for (int i = 0; i < count; ++i) {
    device.synchronize();
    double total = device.time([&] {
      auto start = std::chrono::steady_clock::now();
      for (int j = 0; j < kBackToBack; ++j)
        call();
      std::chrono::duration<double, std::micro> elapsed =
          std::chrono::steady_clock::now() - start;
      host.push_back(elapsed.count() / kBackToBack);
    });
    backToBack.push_back(total / kBackToBack);
  }
  print("GPU time, from idle", fromIdle, "ms");
  print("GPU time, one of ten back to back", backToBack, "ms");
  print("host time, one of ten back to back", host, "us");
}

void tenon::run::timeCalls(Call &call, Device &device, int count) {
  // A call on the CPU may take seconds; the one that gave the outputs warmed
  // up.
  for (int i = 0; i < kWarmUpCalls && !device.isCpu(); ++i)
    call();
  if (!device.isCpu())
    return timeGpu(call, device, count);
  std::vector<double> times;
  for (int i = 0; i < count; ++i)
    times.push_back(device.time([&] { call(); }));
  print("CPU time", times, "ms");
}
