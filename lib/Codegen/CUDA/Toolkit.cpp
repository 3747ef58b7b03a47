//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds and runs the tools of CUDA.
//
//===----------------------------------------------------------------------===//

#include "Toolkit.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace mlir::tenon;

static Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

//===----------------------------------------------------------------------===//
// Toolkit
//===----------------------------------------------------------------------===//

/// Fills in the parts of `toolkit` that are under `root` and not yet found.
static void lookUnder(StringRef root, Toolkit &toolkit) {
  auto take = [&](std::string &part, StringRef relative) {
    SmallString<128> path(root);
    sys::path::append(path, relative);
    if (part.empty() && sys::fs::exists(path))
      part = std::string(path);
  };
  take(toolkit.ptxas, "bin/ptxas");
  take(toolkit.fatbinary, "bin/fatbinary");
  take(toolkit.libdevice, "nvvm/libdevice/libdevice.10.bc");
}

static void lookAlongPath(Toolkit &toolkit) {
  ErrorOr<std::string> ptxas = sys::findProgramByName("ptxas");
  if (!ptxas)
    return;
  SmallString<128> real;
  sys::fs::real_path(*ptxas, real);
  lookUnder(sys::path::parent_path(sys::path::parent_path(real)), toolkit);
}

Expected<Toolkit> Toolkit::find() {
  Toolkit toolkit;
  // Who names a folder wants that one, or to hear that it is not right.
  if (std::optional<std::string> root =
          sys::Process::GetEnv("TENON_CUDA_PATH")) {
    lookUnder(*root, toolkit);
  } else {
    if (std::optional<std::string> root = sys::Process::GetEnv("CUDA_PATH"))
      lookUnder(*root, toolkit);
    lookUnder(TENON_CUDA_TOOLKIT, toolkit);
    lookAlongPath(toolkit);
  }
  std::string missing;
  for (auto [name, path] :
       {std::pair<StringRef, StringRef>{"ptxas", toolkit.ptxas},
        {"fatbinary", toolkit.fatbinary},
        {"libdevice.10.bc", toolkit.libdevice}})
    if (path.empty())
      missing += (missing.empty() ? "" : ", ") + name.str();
  if (missing.empty())
    return toolkit;
  return makeError("compiling for a GPU needs " + missing +
                   " of CUDA 13, looked for in $TENON_CUDA_PATH or else in "
                   "$CUDA_PATH, " TENON_CUDA_TOOLKIT
                   " and $PATH; install it with "
                   "'make setup' or 'pip install nvidia-cuda-nvcc', and point "
                   "TENON_CUDA_PATH to its folder");
}

//===----------------------------------------------------------------------===//
// Files and programs
//===----------------------------------------------------------------------===//

Expected<TemporaryFolder> TemporaryFolder::create() {
  SmallString<128> path;
  if (std::error_code error = sys::fs::createUniqueDirectory("tenon", path))
    return makeError("cannot make a temporary folder: " + error.message());
  return TemporaryFolder(std::string(path));
}

TemporaryFolder::~TemporaryFolder() {
  if (!path.empty())
    sys::fs::remove_directories(path);
}

std::string TemporaryFolder::file(StringRef name) const {
  SmallString<128> result(path);
  sys::path::append(result, name);
  return std::string(result);
}

Error mlir::tenon::writeFile(StringRef path, StringRef content) {
  std::error_code error;
  raw_fd_ostream stream(path, error);
  if (!error) {
    stream << content;
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error)
    return makeError("cannot write " + path + ": " + error.message());
  return Error::success();
}

Expected<std::string> mlir::tenon::readFile(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return makeError("cannot read " + path + ": " +
                     buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

Expected<std::string> mlir::tenon::runTool(StringRef program,
                                           ArrayRef<std::string> arguments,
                                           const TemporaryFolder &folder,
                                           StringRef log) {
  std::string logPath = folder.file(log);
  SmallVector<StringRef> command{program};
  append_range(command, arguments);
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(logPath),
                                          StringRef(logPath)};
  std::string message;
  int status = sys::ExecuteAndWait(program, command, /*Env=*/std::nullopt,
                                   redirects, /*SecondsToWait=*/0,
                                   /*MemoryLimit=*/0, &message);
  std::string output;
  if (sys::fs::exists(logPath)) {
    Expected<std::string> text = readFile(logPath);
    if (!text)
      return text.takeError();
    output = *text;
  }
  if (status != 0)
    return makeError(sys::path::filename(program) + " failed: " + message +
                     output);
  return output;
}
