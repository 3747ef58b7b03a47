//===- TestSupport.h - Compiling through the C interface --------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_UNITTESTS_CAPI_TESTSUPPORT_H
#define TENON_UNITTESTS_CAPI_TESTSUPPORT_H

#include "tenon-c/Compiler.h"

#include "gtest/gtest.h"

#include <optional>
#include <string>
#include <vector>

namespace tenon::test {

/// A diagnostic that was given, with strings of its own.
struct Given {
  TenonSeverity severity;
  std::string message, file;
  int line, column;
  std::optional<std::string> kind, category, name, function, arguments;
};

/// Two layers, the first of which is fused with a bias and an activation.
extern const char *const kModel;

/// What came of one compilation.
struct Outcome {
  TenonStatus status;
  std::vector<Given> diagnostics;
  std::string text; ///< of lower()
};

std::string temporaryPath(const std::string &name);
std::string readFile(const std::string &path);

Outcome compile(const std::string &source, const std::string &output,
                const TenonCompileOptions &options = {},
                const char *header = nullptr);
Outcome lower(const std::string &source, const char *stage,
              const TenonCompileOptions &options = {});

} // namespace tenon::test

#endif // TENON_UNITTESTS_CAPI_TESTSUPPORT_H
