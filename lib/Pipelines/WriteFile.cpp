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

#include "tenon/Codegen/CUDA/Binary/TemporaryFolder.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>
#include <unistd.h>

using namespace llvm;
using namespace mlir::tenon;

/// Whether this process is a program of Tenon's.
static bool handlesSignals = false;

void mlir::tenon::removeUnfinishedFilesOnSignals() {
  handlesSignals = true;
  removeTemporaryFolderOnSignals();
}

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
  bool isMissing = code == std::errc::no_such_file_or_directory;
  return createStringError(code, "cannot write '" + path +
                                     "': " + code.message() +
                                     (isMissing ? "; make its folder" : ""));
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

/// The file at the end of symbolic links, which may not be there yet: a link is
/// written through, as open() does, and stays.
static ErrorOr<std::string> followLinks(StringRef path) {
  constexpr unsigned kMostLinks = 40; // as of the kernel
  std::filesystem::path file = path.str();
  std::error_code ignored;
  for (unsigned links = 0; std::filesystem::is_symlink(file, ignored);) {
    if (++links > kMostLinks)
      return std::make_error_code(std::errc::too_many_symbolic_link_levels);
    file.replace_filename(std::filesystem::read_symlink(file, ignored));
  }
  return file.string();
}

/// Writes a file beside `path`; `unfinished` then has it.
static std::error_code writeBeside(StringRef path, const WholeFile &file,
                                   std::optional<UnfinishedFile> &unfinished) {
  int fd;
  std::string temporary;
  std::error_code code;
  unsigned mode = sys::fs::all_read | sys::fs::all_write;
  do { // not createUniqueFile(), for which a '%' of the path is a digit too
    temporary =
        (path + "-" + Twine::utohexstr(sys::Process::GetRandomNumber())).str();
    code = sys::fs::openFileForWrite(
        temporary, fd, sys::fs::CD_CreateNew, sys::fs::OF_None,
        file.isExecutable ? mode | sys::fs::all_exe : mode);
  } while (code == std::errc::file_exists);
  if (code)
    return code;
  unfinished.emplace(temporary);
  raw_fd_ostream os(fd, /*shouldClose=*/true);
  return writeTo(os, file.content);
}

Error mlir::tenon::writeWholeFiles(ArrayRef<WholeFile> files) {
  std::vector<std::optional<UnfinishedFile>> unfinished(files.size());
  std::vector<std::string> targets;
  for (auto [file, slot] : zip(files, unfinished)) {
    ErrorOr<std::string> target = followLinks(file.path);
    std::error_code code = target.getError();
    if (sys::fs::is_directory(file.path))
      code = std::make_error_code(std::errc::is_a_directory);
    if (!code)
      code = writeBeside(*target, file, slot);
    if (code)
      return makeError(file.path, code);
    targets.push_back(*target);
  }
  for (auto [file, slot, target] : zip(files, unfinished, targets))
    if (std::error_code code = slot->finish(target))
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
