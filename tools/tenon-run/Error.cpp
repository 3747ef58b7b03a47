//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text for messages. What is compiled from the runtime's sources fails as the
// rest does, by an exception.
//
//===----------------------------------------------------------------------===//

#include "Error.h"

#include "Runtime/Error.h"

#include <cstdarg>
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

TenonStatus tenon::runtime::fail(TenonStatus /*status*/, const char *format,
                                 ...) {
  char message[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  throw run::Error(message);
}
