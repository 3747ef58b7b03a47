//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors beside SGEMM's. Precision fp32 promises at most SGEMM's error, which
// depends on the numbers: so both products are computed of the same ones.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_SGEMM_H
#define TENON_TOOLS_TENON_RUN_SGEMM_H

#include "Check.h"

namespace tenon::run {

/// Could SGEMM have computed the products? It takes and gives f32, and they
/// were to have precision fp32.
bool couldBeSgemm(const Comparison &comparison);

/// The same model's outputs with cuBLASLt's products, on the CPU: compiles
/// `source` for `architecture`, which is that of `device`, and runs it there.
std::vector<Tensor> runSgemm(const Comparison &comparison,
                             const std::string &source,
                             const std::string &architecture, Device &device,
                             Device &cpu);

/// Prints the errors of both side by side.
void printBesideSgemm(const Comparison &comparison,
                      const std::vector<Tensor> &sgemm);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_SGEMM_H
