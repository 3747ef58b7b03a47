//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Has the fakes of the runtime's tests play one large GPU, or what the
// environment says: FAKE_NO_GPU, FAKE_FAULT, FAKE_ROWS_OUTSIDE=N. Kernels do
// nothing; products of f32 are computed. Linked after the fakes.
//
//===----------------------------------------------------------------------===//

#include "Fakes.h"

#include <cstdlib>

static bool give() {
  fake::State &state = fake::state();
  state.memoryBytes = size_t(1) << 30;
  state.deviceCount = 1;
  if (getenv("FAKE_NO_GPU"))
    state.initResult = CUDA_ERROR_NO_DEVICE;
  if (getenv("FAKE_FAULT"))
    state.synchroniseResult = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (const char *count = getenv("FAKE_ROWS_OUTSIDE")) {
    state.counterBytes = 8;
    state.counters[0] = strtoull(count, nullptr, 10);
  }
  return true;
}

static const bool isGiven = give();
