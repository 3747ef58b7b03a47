//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text for messages.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_TEXT_H
#define TENON_TOOLS_TENON_RUN_TEXT_H

#include <string>
#include <vector>

namespace tenon::run {

/// "a, b, c".
std::string join(const std::vector<std::string> &parts);

/// Says on a terminal what takes long; elsewhere nothing.
void note(const std::string &text);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_TEXT_H
