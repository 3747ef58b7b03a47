//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a program ends that cannot go on. There may be no memory to ask for.
//
//===----------------------------------------------------------------------===//

#include "tenon/Pipelines/FatalErrors.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <cstring>
#include <new>
#include <unistd.h>

static const char *programName = "";

[[noreturn]] static void exitWith(const char *reason) {
  for (const char *text : {programName, ": error: ", reason, "\n"})
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0)
      break;
  llvm::sys::RunInterruptHandlers(); // removes unfinished files
  _exit(1);
}

[[noreturn]] static void exitWithoutMemory() {
  exitWith("out of memory; is an extent larger than was meant?");
}

void mlir::tenon::exitOnFatalErrors(const char *program) {
  programName = program;
  std::set_new_handler(exitWithoutMemory);
  llvm::remove_bad_alloc_error_handler();
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { exitWithoutMemory(); });
  llvm::remove_fatal_error_handler();
  llvm::install_fatal_error_handler(
      [](void *, const char *reason, bool) { exitWith(reason); });
}
