//===- HostTest.cpp - The compiler as a guest of another program ----------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace tenon::test;

TEST(Host, CompilesOnSeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<Outcome> outcomes(8);
  for (size_t i = 0; i < outcomes.size(); ++i)
    threads.emplace_back([&, i] {
      std::string source = kModel;
      if (i % 2) // every second one fails
        source.replace(source.find("tenon.relu"), 10, "tenon.rely");
      outcomes[i] =
          compile(source, temporaryPath("thread" + std::to_string(i) + ".so"));
    });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_EQ(outcomes[i].status, i % 2 ? TENON_INVALID_ARGUMENT : TENON_OK);
    EXPECT_EQ(outcomes[i].diagnostics.size(), i % 2);
  }
}

TEST(Host, CompilesToTheSameBytes) {
  std::string path = temporaryPath("same.so");
  ASSERT_EQ(compile(kModel, path).status, TENON_OK);
  std::string first = readFile(path);
  ASSERT_EQ(compile(kModel, path).status, TENON_OK);
  EXPECT_FALSE(first.empty());
  EXPECT_TRUE(first == readFile(path));
}

TEST(Host, CompilesInAForkedProcess) {
  ASSERT_EQ(compile(kModel, temporaryPath("parent.so")).status, TENON_OK);
  pid_t child = fork();
  if (child == 0) {
    alarm(60); // a lock that a lost thread holds would hang it
    _exit(compile(kModel, temporaryPath("child.so")).status);
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

static constexpr int kSignals[] = {SIGINT,  SIGTERM, SIGHUP,
                                   SIGPIPE, SIGSEGV, SIGABRT};

static std::array<sighandler_t, std::size(kSignals)> getHandlers() {
  std::array<sighandler_t, std::size(kSignals)> handlers;
  for (size_t i = 0; i != handlers.size(); ++i) {
    struct sigaction action = {};
    sigaction(kSignals[i], nullptr, &action);
    handlers[i] = action.sa_handler;
  }
  return handlers;
}

/// Before any test has compiled. Whoever started the tests may have some
/// signals ignored.
static const auto kFirstHandlers = getHandlers();

TEST(Host, KeepsItsSignalHandlers) {
  ASSERT_EQ(compile(kModel, temporaryPath("signals.so")).status, TENON_OK);
  EXPECT_EQ(getHandlers(), kFirstHandlers);
}

TEST(Identity, FingerprintIsTheBuild) {
  std::string fingerprint = tenonCompilerFingerprint();
  std::string version = TENON_VERSION "-";
  ASSERT_EQ(fingerprint.find(version), 0u);
  std::string id = fingerprint.substr(version.size());
  EXPECT_GE(id.size(), 16u);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(fingerprint, tenonCompilerFingerprint());
}

TEST(Identity, ToolchainSaysWhatIsMissing) {
  setenv("TENON_CUDA_PATH", "/nowhere", /*overwrite=*/1);
  std::string text = tenonCompilerToolchain();
  EXPECT_NE(text.find("needs ptxas"), std::string::npos);
  EXPECT_NE(text.find("pip install 'dist/tenon_compiler-....whl[cuda]'"),
            std::string::npos);

  const char *target = "sm_80";
  TenonCompileOptions options = {};
  options.targets = &target;
  options.numTargets = 1;
  std::string silu = kModel;
  silu.replace(silu.find("tenon.relu"), 10, "tenon.silu"); // needs a kernel
  Outcome outcome = compile(silu, temporaryPath("gpu.so"), options);
  EXPECT_EQ(outcome.status, TENON_INVALID_ARGUMENT);
  ASSERT_EQ(outcome.diagnostics.size(), 1u);
  EXPECT_EQ(outcome.diagnostics[0].message, text);
  unsetenv("TENON_CUDA_PATH");
}

TEST(Identity, ListsTargets) {
  EXPECT_NE(strstr(tenonListTargets(), "sm_90a"), nullptr);
}
