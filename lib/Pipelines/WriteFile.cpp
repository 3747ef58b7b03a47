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

#include "tenon/Pipelines/WriteFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace llvm;
using namespace mlir::tenon;

/// Whether this process is a program of Tenon's.
static bool handlesSignals = false;

void mlir::tenon::removeUnfinishedFilesOnSignals() { handlesSignals = true; }

bool mlir::tenon::removesUnfinishedFilesOnSignals() { return handlesSignals; }

UnfinishedFile::UnfinishedFile(StringRef path) : path(path) {
  if (handlesSignals)
    sys::RemoveFileOnSignal(path);
}

UnfinishedFile::~UnfinishedFile() {
  if (path.empty())
    return;
  sys::fs::remove(path);
  if (handlesSignals)
    sys::DontRemoveFileOnSignal(path);
}

std::error_code UnfinishedFile::finish(StringRef finished) {
  if (std::error_code code = sys::fs::rename(path, finished))
    return code;
  if (handlesSignals)
    sys::DontRemoveFileOnSignal(path);
  path.clear();
  return std::error_code();
}

static Error makeError(StringRef path, std::error_code code) {
  return createStringError(code,
                           "cannot write '" + path + "': " + code.message());
}

std::error_code mlir::tenon::writeTo(raw_fd_ostream &os, StringRef content) {
  os << content;
  os.flush();
  std::error_code code = os.error();
  os.clear_error(); // the destructor aborts on an error that is left
  return code;
}

bool mlir::tenon::isSpecialFile(StringRef path) {
  return sys::fs::exists(path) && !sys::fs::is_regular_file(path);
}

/// Writes a file beside its path; `unfinished` then has it.
static std::error_code writeBeside(const WholeFile &file,
                                   std::optional<UnfinishedFile> &unfinished) {
  int fd;
  SmallString<128> temporary;
  unsigned mode = sys::fs::all_read | sys::fs::all_write;
  if (std::error_code code = sys::fs::createUniqueFile(
          file.path + "-%%%%%%", fd, temporary, sys::fs::OF_None,
          file.isExecutable ? mode | sys::fs::all_exe : mode))
    return code;
  unfinished.emplace(temporary);
  raw_fd_ostream os(fd, /*shouldClose=*/true);
  return writeTo(os, file.content);
}

Error mlir::tenon::writeWholeFiles(ArrayRef<WholeFile> files) {
  std::vector<std::optional<UnfinishedFile>> unfinished(files.size());
  for (auto [file, slot] : zip(files, unfinished)) {
    std::error_code code = std::make_error_code(std::errc::is_a_directory);
    if (!sys::fs::is_directory(file.path))
      code = writeBeside(file, slot);
    if (code)
      return makeError(file.path, code);
  }
  for (auto [file, slot] : zip(files, unfinished))
    if (std::error_code code = slot->finish(file.path))
      return makeError(file.path, code);
  return Error::success();
}

Error mlir::tenon::writeWholeFile(StringRef path, StringRef content) {
  std::error_code code;
  if (path == "-") {
    raw_fd_ostream os(STDOUT_FILENO, /*shouldClose=*/false);
    code = writeTo(os, content);
    return code ? makeError("standard output", code) : Error::success();
  }
  if (isSpecialFile(path)) { // a device or pipe stays what it is
    raw_fd_ostream os(path, code);
    if (!code)
      code = writeTo(os, content);
    return code ? makeError(path, code) : Error::success();
  }
  return writeWholeFiles({{path, content}});
}
