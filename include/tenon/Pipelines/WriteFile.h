//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes files that appear whole or not at all.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PIPELINES_WRITEFILE_H
#define TENON_PIPELINES_WRITEFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace llvm {
class raw_fd_ostream;
} // namespace llvm

namespace mlir::tenon {

/// Makes signals that end the process remove the files that are not finished,
/// and those of the tools that make GPU code.
/// For programs alone: a library leaves its host's handlers as they are.
void removeUnfinishedFilesOnSignals();
bool removesUnfinishedFilesOnSignals();

/// Removes the file at its path at the end of its life, unless it is finished.
class UnfinishedFile {
public:
  explicit UnfinishedFile(llvm::StringRef path);
  UnfinishedFile(const UnfinishedFile &) = delete;
  ~UnfinishedFile();

  /// Moves the file to `path`, whole.
  std::error_code finish(llvm::StringRef path);

private:
  std::string path;
};

/// Whether something other than a regular file is at `path`: a device, a pipe,
/// a folder. A file must not be moved over it.
bool isSpecialFile(llvm::StringRef path);

/// Writes all of `content`, and tells of a full disk.
std::error_code writeTo(llvm::raw_fd_ostream &os, llvm::StringRef content);

/// Writes `content` to `path`, "-" for standard output: beside it first, then
/// moved there in one step; a device or pipe is written to directly. Symbolic
/// links are followed, and stay. The error names the path.
llvm::Error writeWholeFile(llvm::StringRef path, llvm::StringRef content);

struct WholeFile {
  llvm::StringRef path, content;
  bool isExecutable = false;
};

/// Writes regular files as `writeWholeFile` does, and moves them to their paths
/// once all are written.
llvm::Error writeWholeFiles(llvm::ArrayRef<WholeFile> files);

} // namespace mlir::tenon

#endif // TENON_PIPELINES_WRITEFILE_H
