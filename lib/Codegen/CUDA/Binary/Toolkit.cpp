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

#include "tenon/Codegen/CUDA/Binary/Toolkit.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

#include <dlfcn.h>
#include <mutex>

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

/// Where pip puts nvidia-cuda-nvcc and nvidia-nvvm, seen from the library that
/// holds this code: site-packages/tenon/lib.
static std::string findPipPackages() {
  static int anchor;
  Dl_info info;
  if (!dladdr(&anchor, &info) || !info.dli_fname)
    return "";
  SmallString<128> path;
  if (sys::fs::real_path(info.dli_fname, path))
    return "";
  for (int level = 0; level < 3; ++level)
    sys::path::remove_filename(path);
  sys::path::append(path, "nvidia", "cu13");
  return std::string(path);
}

static Toolkit lookEverywhere() {
  Toolkit toolkit;
  auto lookUnderVariable = [&](StringRef name) {
    if (std::optional<std::string> root = sys::Process::GetEnv(name))
      lookUnder(*root, toolkit);
  };
  lookUnderVariable("CUDA_PATH");
  lookUnder(findPipPackages(), toolkit);
  lookUnderVariable("CUDA_HOME");
  lookUnder(TENON_CUDA_TOOLKIT, toolkit);
  lookUnder("/usr/local/cuda", toolkit);
  lookAlongPath(toolkit);
  return toolkit;
}

Expected<Toolkit> Toolkit::find() {
  Toolkit toolkit;
  // Who names a folder wants that one, or to hear that it is not right.
  if (auto root = sys::Process::GetEnv("TENON_CUDA_PATH");
      root && !root->empty())
    lookUnder(*root, toolkit);
  else
    toolkit = lookEverywhere();
  std::string missing;
  for (auto [name, path] :
       {std::pair<StringRef, StringRef>{"ptxas", toolkit.ptxas},
        {"fatbinary", toolkit.fatbinary},
        {"libdevice.10.bc", toolkit.libdevice}})
    if (path.empty())
      missing += (missing.empty() ? "" : ", ") + name.str();
  if (missing.empty())
    return toolkit;
  return makeError(
      "compiling for a GPU needs " + missing +
      " of CUDA 13, looked for in $TENON_CUDA_PATH or else in $CUDA_PATH, "
      "pip's "
      "packages beside Tenon, $CUDA_HOME, /usr/local/cuda and $PATH; install "
      "it from Tenon's wheel with pip install "
      "'dist/tenon_compiler-....whl[cuda]' (in "
      "Tenon's sources: 'make setup'), or point TENON_CUDA_PATH to the folder "
      "of CUDA 13");
}

/// The line "Cuda compilation tools, release ..." of `ptxas --version`.
static std::string versionOf(StringRef ptxas) {
  Expected<TemporaryFolder> folder = TemporaryFolder::create();
  if (!folder)
    return toString(folder.takeError());
  Expected<std::string> text = runTool(ptxas, {"--version"}, *folder, "log");
  if (!text)
    return toString(text.takeError());
  for (StringRef line : split(*text, '\n'))
    if (line.contains("release"))
      return line.str();
  return *text;
}

std::string mlir::tenon::describeToolkit() {
  Expected<Toolkit> toolkit = Toolkit::find();
  if (!toolkit)
    return toString(toolkit.takeError());
  // A tool says its version once in the life of this process.
  static std::mutex mutex;
  static StringMap<std::string> versions;
  std::lock_guard<std::mutex> lock(mutex);
  auto [version, isNew] = versions.try_emplace(toolkit->ptxas);
  if (isNew)
    version->second = versionOf(toolkit->ptxas);
  return toolkit->ptxas + ", " + toolkit->libdevice + ": " + version->second;
}

//===----------------------------------------------------------------------===//
// Files and programs
//===----------------------------------------------------------------------===//

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
  if (status == 0)
    return output;
  if (message.empty() && output.empty()) // where its log too found no room?
    message = "it ended with status " + std::to_string(status) +
              " and no message; is there room in '" +
              sys::path::parent_path(logPath).str() + "'?";
  return makeError(sys::path::filename(program) + " failed: " + message +
                   output);
}
