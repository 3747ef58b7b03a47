//===- Toolkit.h - Tools and files of CUDA ---------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CUDA_BINARY_TOOLKIT_H
#define TENON_CODEGEN_CUDA_BINARY_TOOLKIT_H

#include "tenon/Codegen/CUDA/Binary/TemporaryFolder.h"

#include <string>

namespace mlir::tenon {

/// Where the parts of CUDA that compile kernels lie.
struct Toolkit {
  std::string ptxas, fatbinary, libdevice;

  /// Looks in $TENON_CUDA_PATH alone if that is set; else in $CUDA_PATH, pip's
  /// packages beside Tenon's, $CUDA_HOME, the folder known when Tenon was
  /// built, /usr/local/cuda and along $PATH. The error says what is missing and
  /// how to get it.
  static llvm::Expected<Toolkit> find();
};

/// The toolkit's paths and version in a line, or why there is none.
std::string describeToolkit();

/// Runs a program; gives what it wrote to both outputs. `folder` takes the log.
llvm::Expected<std::string> runTool(llvm::StringRef program,
                                    llvm::ArrayRef<std::string> arguments,
                                    const TemporaryFolder &folder,
                                    llvm::StringRef log);

llvm::Error writeFile(llvm::StringRef path, llvm::StringRef content);
llvm::Expected<std::string> readFile(llvm::StringRef path);

} // namespace mlir::tenon

#endif // TENON_CODEGEN_CUDA_BINARY_TOOLKIT_H
