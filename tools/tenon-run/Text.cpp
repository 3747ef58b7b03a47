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

#include "Text.h"

#include <cstdio>
#include <unistd.h>

std::string tenon::run::join(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

void tenon::run::note(const std::string &text) {
  if (isatty(STDERR_FILENO))
    fprintf(stderr, "tenon-run: %s ...\n", text.c_str());
}
