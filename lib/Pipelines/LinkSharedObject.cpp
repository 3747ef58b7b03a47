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
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <dlfcn.h>
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace mlir::tenon;

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
  // By its soname: a Python wheel has no symbolic links.
  for (const std::string &folder : folders) {
    std::string path = folder + "/libtenon_runtime.so.0";
    if (llvm::sys::fs::exists(path))
      return path;
  }
  return "";
}

static LogicalResult runLinker(ArrayRef<const char *> arguments,
                               std::string &error) {
  static std::mutex mutex; // lld keeps global state
  std::lock_guard<std::mutex> lock(mutex);
  llvm::raw_string_ostream errors(error);
  lld::Result result = lld::lldMain(arguments, llvm::nulls(), errors,
                                    {{lld::Gnu, &lld::elf::link}});
  if (!removesUnfinishedFilesOnSignals()) // lld made handlers for its own files
    llvm::sys::unregisterHandlers();
  return success(result.retCode == 0);
}

LogicalResult tenon::linkSharedObject(ArrayRef<char> object, StringRef output,
                                      std::string &error) {
  std::string runtime = findRuntime();
  if (runtime.empty()) {
    error = "libtenon_runtime.so is not in the lib folder beside this program; "
            "reinstall Tenon";
    return failure();
  }
  if (isSpecialFile(output)) {
    error = "cannot write '" + output.str() + "': it is not a regular file";
    return failure();
  }
  SmallString<128> input, linked;
  // The result is made beside the output, to be moved there in one step.
  if (std::error_code code =
          llvm::sys::fs::createTemporaryFile("tenon", "o", input)) {
    error = "cannot make a temporary file: " + code.message();
    return failure();
  }
  UnfinishedFile inputFile(input);
  if (llvm::Error failed =
          writeWholeFile(input, StringRef(object.data(), object.size()))) {
    error = llvm::toString(std::move(failed));
    return failure();
  }
  if (std::error_code code =
          llvm::sys::fs::createUniqueFile(output + "-%%%%%%", linked)) {
    error = "cannot write '" + output.str() + "': " + code.message();
    return failure();
  }
  UnfinishedFile linkedFile(linked);
  std::string name = llvm::sys::path::filename(output).str();
  // A mapped output file would end in SIGBUS on a full disk; lld's threads
  // would stay, and be missing in a process that this one forks.
  if (failed(runLinker({"ld.lld", "-shared", "--gc-sections", "--build-id",
                        "--no-mmap-output-file", "--threads=1", "-soname",
                        name.c_str(), "-rpath", "$ORIGIN", "-o", linked.c_str(),
                        input.c_str(), runtime.c_str()},
                       error)))
    return failure();
  if (std::error_code code = linkedFile.finish(output)) {
    error = "cannot write '" + output.str() + "': " + code.message();
    return failure();
  }
  return success();
}
