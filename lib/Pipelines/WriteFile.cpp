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
using mlir::tenon::UnfinishedFile;

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

/// Writes all of `content`, and tells of a full disk.
static std::error_code writeTo(raw_fd_ostream &os, StringRef content) {
  os << content;
  os.flush();
  std::error_code code = os.error();
  os.clear_error(); // the destructor aborts on an error that is left
  return code;
}

bool mlir::tenon::isSpecialFile(StringRef path) {
  return sys::fs::exists(path) && !sys::fs::is_regular_file(path);
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
  int fd;
  SmallString<128> temporary;
  code = sys::fs::createUniqueFile(path + "-%%%%%%", fd, temporary);
  if (code)
    return makeError(path, code);
  UnfinishedFile unfinished(temporary);
  {
    raw_fd_ostream os(fd, /*shouldClose=*/true);
    code = writeTo(os, content);
  }
  if (!code)
    code = unfinished.finish(path);
  return code ? makeError(path, code) : Error::success();
}
