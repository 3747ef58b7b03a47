//===- TestSupport.cpp - Compiling through the C interface ----------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

using namespace tenon::test;

const char *const tenon::test::kModel = R"(
func.func @forward(%x: tensor<?x2xf32>, %w: tensor<3x2xf32>, %b: tensor<3xf32>)
    -> tensor<?x3xf32> {
  %0 = tenon.linear %x, %w, %b
      : (tensor<?x2xf32>, tensor<3x2xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %1 = tenon.relu %0 : tensor<?x3xf32>
  return %1 : tensor<?x3xf32>
}
)";

static std::optional<std::string> copy(const char *text) {
  return text ? std::optional<std::string>(text) : std::nullopt;
}

static void keep(const TenonDiagnostic *diagnostic, void *context) {
  static_cast<Outcome *>(context)->diagnostics.push_back(
      {diagnostic->severity, diagnostic->message,
       diagnostic->file ? diagnostic->file : "", diagnostic->line,
       diagnostic->column, copy(diagnostic->kind), copy(diagnostic->category),
       copy(diagnostic->name), copy(diagnostic->function),
       copy(diagnostic->arguments)});
}

namespace {
/// A folder of this process, which goes when the process ends.
struct TemporaryFolder {
  std::string path =
      testing::TempDir() + "tenon-" + std::to_string(getpid()) + "/";
  TemporaryFolder() { std::filesystem::create_directory(path); }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};
} // namespace

std::string tenon::test::temporaryPath(const std::string &name) {
  static const TemporaryFolder folder;
  return folder.path + name;
}

std::string tenon::test::readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Outcome tenon::test::compile(const std::string &source,
                             const std::string &output,
                             const TenonCompileOptions &options,
                             const char *header) {
  Outcome outcome;
  outcome.status =
      tenonCompile(source.data(), source.size(), "model.mlir", &options,
                   output.c_str(), header, keep, &outcome);
  return outcome;
}

Outcome tenon::test::lower(const std::string &source, const char *stage,
                           const TenonCompileOptions &options) {
  Outcome outcome;
  auto write = [](const char *text, size_t bytes, void *context) {
    static_cast<Outcome *>(context)->text.assign(text, bytes);
  };
  outcome.status = tenonLower(source.data(), source.size(), "model.mlir",
                              &options, stage, write, keep, &outcome);
  return outcome;
}
