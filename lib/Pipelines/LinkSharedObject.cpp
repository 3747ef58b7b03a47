//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Links a model's object into a shared object, with lld in this process.
//
//===----------------------------------------------------------------------===//

#include "tenon/Pipelines/Compiler.h"
#include "tenon/Pipelines/WriteFile.h"

#include "lld/Common/Driver.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace mlir::tenon;

/// By its soname: a Python wheel has no symbolic links.
static constexpr StringLiteral kRuntime = "libtenon_runtime.so.0";

/// Where this program's libtenon_runtime.so is: beside the library that holds
/// this code, or in ../lib of the program.
static std::string findRuntime() {
  static int anchor;
  std::string program = llvm::sys::fs::getMainExecutable(nullptr, &anchor);
  SmallVector<std::string> folders;
  Dl_info info;
  if (dladdr(&anchor, &info) && info.dli_fname)
    folders.push_back(llvm::sys::path::parent_path(info.dli_fname).str());
  StringRef bin = llvm::sys::path::parent_path(program);
  folders.push_back((llvm::sys::path::parent_path(bin) + "/lib").str());
  for (const std::string &folder : folders) {
    std::string path = folder + "/" + kRuntime.str();
    if (llvm::sys::fs::exists(path))
      return path;
  }
  return "";
}

static llvm::Error makeError(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static llvm::Error makeError(const Twine &message, int number) {
  return makeError(message + ": " + llvm::sys::StrError(number));
}

/// The path by which this process can open a descriptor of its own.
static std::string pathOf(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

/// What is not to be forked in the middle: lld keeps global state, and a pipe's
/// writing end that a child has open never comes to its end.
static std::mutex &linking() {
  static std::mutex mutex;
  // A fork waits for other threads' links, so that the child can link too.
  static const int registered = pthread_atfork(
      [] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
  (void)registered;
  return mutex;
}

static LogicalResult runLinker(ArrayRef<const char *> arguments,
                               std::string &error) {
  llvm::raw_string_ostream errors(error);
  lld::Result result = lld::lldMain(arguments, llvm::nulls(), errors,
                                    {{lld::Gnu, &lld::elf::link}});
  if (!removesUnfinishedFilesOnSignals()) // lld made handlers for its own files
    llvm::sys::unregisterHandlers();
  return success(result.retCode == 0);
}

namespace {
/// A descriptor that is closed at the end of its life.
struct OwnedDescriptor {
  ~OwnedDescriptor() { reset(); }
  void reset() {
    if (fd >= 0)
      close(fd);
    fd = -1;
  }
  int fd = -1;
};
} // namespace

/// An object as a file that needs no disk.
static llvm::Error writeToMemory(ArrayRef<char> object, OwnedDescriptor &file) {
  file.fd = memfd_create("tenon", MFD_CLOEXEC);
  if (file.fd < 0)
    return makeError("cannot make a file in memory", errno);
  llvm::raw_fd_ostream os(file.fd, /*shouldClose=*/false);
  std::error_code code = writeTo(os, StringRef(object.data(), object.size()));
  return code ? makeError("cannot write a file in memory: " + code.message())
              : llvm::Error::success();
}

/// Links files into a shared object.
static llvm::Expected<std::string> linkFiles(ArrayRef<std::string> files,
                                             StringRef soname) {
  OwnedDescriptor reading, writing;
  // On a full disk lld ends in SIGBUS where it maps its output, and in exit
  // where it does not; a pipe it writes to as to any device, and that is whole.
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return makeError("cannot make a pipe", errno);
  reading.fd = ends[0];
  writing.fd = ends[1];
  SmallVector<char> linked;
  std::string error, readError;
  std::thread reader([&] {
    readError =
        llvm::toString(llvm::sys::fs::readNativeFileToEOF(reading.fd, linked));
  });
  std::string name = soname.str(), output = pathOf(writing.fd);
  // lld's threads would stay, and be missing in a process that this one forks.
  SmallVector<const char *> arguments{
      "ld.lld",      "-shared", "--gc-sections", "--build-id",
      "--threads=1", "-soname", name.c_str(),    "-rpath",
      "$ORIGIN",     "-o",      output.c_str()};
  for (const std::string &file : files)
    arguments.push_back(file.c_str());
  LogicalResult result = runLinker(arguments, error);
  writing.reset();
  reader.join();
  if (failed(result) || !readError.empty())
    return makeError(StringRef(failed(result) ? error : readError).rtrim());
  return std::string(linked.begin(), linked.end());
}

/// What has the runtime's name, and nothing else, stands for the runtime of
/// another architecture.
static llvm::Error makeStandIn(StringRef cpuLevel, OwnedDescriptor &file) {
  llvm::LLVMContext context;
  llvm::Module empty(kRuntime, context);
  auto object = emitObject(empty, cpuLevel);
  if (failed(object))
    return makeError("this build of LLVM has no back end for " + cpuLevel);
  OwnedDescriptor input;
  if (llvm::Error error = writeToMemory(*object, input))
    return error;
  llvm::Expected<std::string> linked = linkFiles({pathOf(input.fd)}, kRuntime);
  if (!linked)
    return linked.takeError();
  return writeToMemory(ArrayRef(linked->data(), linked->size()), file);
}

llvm::Expected<std::string> tenon::linkSharedObject(ArrayRef<char> object,
                                                    StringRef soname,
                                                    StringRef cpuLevel) {
  std::lock_guard<std::mutex> lock(linking());
  OwnedDescriptor input, standIn;
  std::string runtime;
  if (cpuLevel == kAArch64) {
    if (llvm::Error error = makeStandIn(cpuLevel, standIn))
      return error;
    runtime = pathOf(standIn.fd);
  } else if (runtime = findRuntime(); runtime.empty()) {
    return makeError("libtenon_runtime.so is not in the lib folder beside this "
                     "program; reinstall Tenon");
  }
  if (llvm::Error error = writeToMemory(object, input))
    return error;
  return linkFiles({pathOf(input.fd), runtime}, soname);
}

llvm::Error tenon::writeSharedObject(const CompiledModel &model,
                                     ArrayRef<char> object, StringRef output,
                                     StringRef header) {
  if (isSpecialFile(output))
    return makeError("cannot write '" + output + "': it is not a regular file");
  llvm::Expected<std::string> linked = linkSharedObject(
      object, llvm::sys::path::filename(output), model.description.cpu);
  if (!linked)
    return linked.takeError();
  SmallVector<WholeFile> files{{output, *linked, /*isExecutable=*/true}};
  std::string text = toHeader(model.description);
  if (!header.empty())
    files.push_back({header, text});
  return writeWholeFiles(files);
}
