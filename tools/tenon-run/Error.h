//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How every part of tenon-run fails: one sentence that names the remedy.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_ERROR_H
#define TENON_TOOLS_TENON_RUN_ERROR_H

#include <stdexcept>
#include <string>
#include <vector>

namespace tenon::run {

/// Printed by main as `tenon-run: error: ...`, with exit status 1.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// "a, b, c".
std::string join(const std::vector<std::string> &parts);

/// Says on a terminal what takes long; elsewhere nothing.
void note(const std::string &text);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_ERROR_H
