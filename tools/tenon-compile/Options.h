//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command line of tenon-compile.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_COMPILE_OPTIONS_H
#define TENON_TOOLS_TENON_COMPILE_OPTIONS_H

#include "tenon/Pipelines/Compiler.h"

#include "mlir/IR/Remarks.h"

#include <optional>
#include <string>

struct CompileFlags {
  std::string input, output;
  std::string emit;
  std::string stopAfter;
  bool time;
  mlir::tenon::CompileOptions options;
  std::optional<mlir::remark::RemarkCategories> remarks;
};

/// Where the C header of the shared object `output` is written.
std::string headerOf(llvm::StringRef output);

/// Reads and checks the command line. On failure `error` says what is wrong.
std::optional<CompileFlags> parseFlags(int argc, char **argv,
                                       std::string &error);

#endif // TENON_TOOLS_TENON_COMPILE_OPTIONS_H
