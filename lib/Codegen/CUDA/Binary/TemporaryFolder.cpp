//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes folders for the files of CUDA's tools, and removes them.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CUDA/Binary/TemporaryFolder.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <atomic>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace llvm;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

static constexpr int kSignals[] = {SIGINT,  SIGTERM, SIGHUP,
                                   SIGQUIT, SIGPIPE, SIGXCPU};
static struct sigaction previous[std::size(kSignals)];
/// Where a handler finds the folder's path, which it must not look for in an
/// object that another thread may be moving.
static char openPath[PATH_MAX];
static std::atomic<bool> handlesSignals = false, isOpen = false;

/// Removes a folder's files and the folder, by calls that are safe in a signal
/// handler: those of the C library may wait for a lock that the interrupted
/// thread holds.
static void removeSafely(const char *path) {
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return;
  alignas(dirent64) char buffer[4096];
  long size;
  while ((size = syscall(SYS_getdents64, folder, buffer, sizeof(buffer))) > 0)
    for (long at = 0; at < size;) {
      auto *entry = reinterpret_cast<dirent64 *>(buffer + at);
      unlinkat(folder, entry->d_name, /*flags=*/0); // not "." and ".."
      at += entry->d_reclen;
    }
  close(folder);
}

/// Removes the folder, and lets happen what would have without this handler.
static void handle(int signal) {
  if (isOpen)
    // A tool that the signal has not yet reached may write one more file.
    for (int attempt = 0; attempt != 8; ++attempt) {
      removeSafely(openPath);
      if (rmdir(openPath) == 0)
        break;
    }
  for (auto [number, action] : zip(kSignals, previous))
    if (number == signal)
      sigaction(signal, &action, nullptr);
  raise(signal);
}

void mlir::tenon::removeTemporaryFolderOnSignals() {
  if (handlesSignals.exchange(true))
    return;
  struct sigaction action = {};
  action.sa_handler = handle;
  sigemptyset(&action.sa_mask);
  for (auto [number, old] : zip(kSignals, previous)) {
    sigaction(number, nullptr, &old);
    if (old.sa_handler != SIG_IGN) // as nohup wants it
      sigaction(number, &action, nullptr);
  }
}

//===----------------------------------------------------------------------===//
// TemporaryFolder
//===----------------------------------------------------------------------===//

Expected<TemporaryFolder> TemporaryFolder::create() {
  SmallString<128> parent;
  sys::path::system_temp_directory(/*erasedOnReboot=*/true, parent);
  // LLVM's createUniqueDirectory would take each % of TMPDIR for a digit.
  std::string path = (parent + "/tenon-XXXXXX").str();
  if (!mkdtemp(path.data()))
    return createStringError(inconvertibleErrorCode(),
                             "cannot make a temporary folder in '" + parent +
                                 "': " + sys::StrError() +
                                 "; point TMPDIR to a folder that can be "
                                 "written");
  if (handlesSignals && path.size() < sizeof(openPath)) {
    llvm::copy(path, openPath);
    openPath[path.size()] = '\0';
    isOpen = true;
  }
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::~TemporaryFolder() {
  if (path.empty())
    return;
  sys::fs::remove_directories(path);
  isOpen = false;
}

std::string TemporaryFolder::file(StringRef name) const {
  SmallString<128> result(path);
  sys::path::append(result, name);
  return std::string(result);
}
