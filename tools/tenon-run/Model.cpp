//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opening a model, which may have to be compiled first.
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "Call.h"
#include "Error.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tenon::run;
namespace fs = std::filesystem;

bool tenon::run::isSource(const std::string &path) {
  std::string extension = fs::path(path).extension();
  return extension == ".mlir" || extension == ".mlirbc";
}

/// What the loader would say of these needs translation.
static void checkIsFile(const std::string &path) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    throw Error("no model at '" + path + "'; check the path");
  if (error || access(path.c_str(), R_OK))
    throw Error("cannot read '" + path +
                "': " + (error ? error.message() : strerror(errno)) +
                "; check its permissions");
  if (fs::is_directory(status))
    throw Error("'" + path +
                "' is a directory; give a .so of tenon-compile or a .mlir");
}

ModelHandle tenon::run::openCompiled(const std::string &path) {
  checkIsFile(path);
  char magic[4] = {};
  if (!std::ifstream(path, std::ios::binary).read(magic, sizeof(magic)) ||
      memcmp(magic,
             "\x7f"
             "ELF",
             sizeof(magic)))
    throw Error("'" + path +
                "' is not a compiled model; make one with "
                "tenon-compile -o, or give a model's text as .mlir");
  TenonModel *model = nullptr;
  check(tenonModelOpen(path.c_str(), &model));
  return ModelHandle(model);
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

namespace {
class TemporaryFolder {
public:
  TemporaryFolder() {
    const char *parent = getenv("TMPDIR");
    path =
        std::string(parent && *parent ? parent : "/tmp") + "/tenon-run-XXXXXX";
    if (!mkdtemp(path.data()))
      throw Error("cannot make a folder '" + path + "': " + strerror(errno) +
                  "; set TMPDIR to a folder that can be written");
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  std::string path;
};
} // namespace

namespace {
/// Puts off the signals that end a program while it lives; those that the
/// program ignores (nohup) stay ignored.
class PutOffSignals {
public:
  PutOffSignals() {
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action;
      if (!sigaction(signal, nullptr, &action) && action.sa_handler != SIG_IGN)
        sigaddset(&signals, signal);
    }
    sigprocmask(SIG_BLOCK, &signals, &before);
  }
  ~PutOffSignals() {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (interruption)
      raise(interruption);
  }
  PutOffSignals(const PutOffSignals &) = delete;

  /// Runs a program to its end, with this one's streams, and gives its status.
  /// A signal is passed on.
  int run(std::vector<std::string> command);

  int interruption = 0; ///< the signal that came
private:
  sigset_t signals, before;
};
} // namespace

int PutOffSignals::run(std::vector<std::string> command) {
  std::vector<char *> arguments;
  for (std::string &argument : command)
    arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &before);
  pid_t child = 0;
  int error = posix_spawn(&child, arguments[0], nullptr, &attributes,
                          arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error)
    throw Error("cannot start '" + command[0] + "': " + strerror(error) +
                "; install Tenon's compiler there, or compile the model "
                "elsewhere and give the .so");
  int status = 0;
  while (!waitpid(child, &status, WNOHANG))
    if (int signal = sigwaitinfo(&signals, nullptr);
        signal > 0 && signal != SIGCHLD) {
      interruption = signal;
      kill(child, signal);
    }
  return status;
}

ModelHandle
tenon::run::compileAndOpen(const std::string &source,
                           const std::vector<std::string> &options) {
  checkIsFile(source);
  note("compiling '" + source + "'");
  PutOffSignals signals;
  TemporaryFolder folder; // a loaded library needs its file no more
  fs::path self = fs::read_symlink("/proc/self/exe");
  std::string output = folder.path + "/libmodel.so";
  std::vector<std::string> command = {self.parent_path() / "tenon-compile",
                                      source, "-o", output};
  command.insert(command.end(), options.begin(), options.end());
  int status = signals.run(command);
  if (signals.interruption)
    return nullptr;
  if (WIFSIGNALED(status))
    throw Error(std::string("tenon-compile was ended by signal ") +
                std::to_string(WTERMSIG(status)) + " (" +
                strsignal(WTERMSIG(status)) + ")");
  if (WEXITSTATUS(status))
    throw CompileFailure{WEXITSTATUS(status)};
  return openCompiled(output);
}
