//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a program ends that has no more memory: nothing here asks for any.
//
//===----------------------------------------------------------------------===//

#include "tenon/Pipelines/OutOfMemory.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <cstring>
#include <new>
#include <unistd.h>

static const char *programName = "";

[[noreturn]] static void exitNow() {
  for (const char *text :
       {programName,
        ": error: out of memory; is an extent larger than was meant?\n"})
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0)
      break;
  llvm::sys::RunInterruptHandlers(); // removes unfinished files
  _exit(1);
}

void mlir::tenon::exitWhenOutOfMemory(const char *program) {
  programName = program;
  std::set_new_handler(exitNow);
  llvm::remove_bad_alloc_error_handler();
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { exitNow(); });
}
