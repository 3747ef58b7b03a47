//===- TemporaryFolder.h - A folder for a compilation's files --*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CUDA_BINARY_TEMPORARYFOLDER_H
#define TENON_CODEGEN_CUDA_BINARY_TEMPORARYFOLDER_H

#include "llvm/Support/Error.h"

#include <string>

namespace mlir::tenon {

/// Makes signals that end the process remove its temporary folder. For programs
/// alone, and those make one at a time: a library leaves its host's handlers as
/// they are.
void removeTemporaryFolderOnSignals();

/// A folder that goes away with this object, with all files that are in it.
class TemporaryFolder {
public:
  static llvm::Expected<TemporaryFolder> create();
  TemporaryFolder(TemporaryFolder &&other) : path(std::move(other.path)) {
    other.path.clear();
  }
  ~TemporaryFolder();
  std::string file(llvm::StringRef name) const;

private:
  explicit TemporaryFolder(std::string path) : path(std::move(path)) {}
  std::string path;
};

} // namespace mlir::tenon

#endif // TENON_CODEGEN_CUDA_BINARY_TEMPORARYFOLDER_H
