//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a file to a model.
//
//===----------------------------------------------------------------------===//

#include "tenon-c/Compiler.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  std::ifstream file(argv[1]);
  std::stringstream text;
  text << file.rdbuf();
  std::string source = text.str();
  TenonCompileOptions options = {};
  options.name = "model";
  auto print = [](const TenonDiagnostic *diagnostic, void *) {
    std::cerr << diagnostic->message << "\n";
  };
  if (tenonCompile(source.data(), source.size(), argv[1], &options, argv[2],
                   nullptr, print, nullptr) != TENON_OK)
    return 1;
  std::puts("compiled");
}
