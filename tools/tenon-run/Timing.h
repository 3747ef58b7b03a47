//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measurement of a call's time.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_TIMING_H
#define TENON_TOOLS_TENON_RUN_TIMING_H

#include "Call.h"

namespace tenon::run {

/// Times `count` calls and prints median, minimum and maximum. On a GPU: calls
/// from idle, calls back to back, and the CPU's time to enqueue one.
void timeCalls(Call &call, Device &device, int count);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_TIMING_H
