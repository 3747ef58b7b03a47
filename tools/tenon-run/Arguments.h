//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command line, and the inputs that it asks for.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_ARGUMENTS_H
#define TENON_TOOLS_TENON_RUN_ARGUMENTS_H

#include "Tensor.h"

#include <optional>

namespace tenon::run {

struct Arguments {
  std::string model;
  std::string function; ///< "" for the default
  std::string target;   ///< "cpu", "cuda" or "" for the default
  int gpu = 0;
  std::vector<std::string> choices; ///< options of tenon-compile's, for a .mlir
  std::map<std::string, std::string> inputs, outputs; ///< files by name
  std::string outputDir;
  std::map<std::string, int64_t> dims;
  uint64_t seed = 0;
  bool check = false, manifest = false;
  std::optional<double> tolerance;
  int timedCalls = 0; ///< 0: no timing
};

/// Reads the command line. Without a value, all is done (`--help`).
std::optional<Arguments> parseArguments(int argc, char **argv);

/// Makes all inputs of `entry` and of its reference, on the CPU.
Tensors makeInputs(Device &cpu, const Manifest &manifest,
                   const EntryInfo &entry, const Arguments &arguments);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_ARGUMENTS_H
