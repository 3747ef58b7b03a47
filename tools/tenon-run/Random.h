//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random inputs that are the same on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_RANDOM_H
#define TENON_TOOLS_TENON_RUN_RANDOM_H

#include "Tensor.h"

namespace tenon::run {

/// Fills a tensor on the CPU as `tenon-run --help` says; `seed`, its name and
/// an element's index alone decide on the element.
void fillRandom(Tensor &host, bool isParameter, uint64_t seed);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_RANDOM_H
