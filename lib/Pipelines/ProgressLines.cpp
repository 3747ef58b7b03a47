//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lines that say that work goes on.
//
//===----------------------------------------------------------------------===//

#include "tenon/Pipelines/ProgressLines.h"

#include "llvm/Support/Format.h"

using namespace mlir::tenon;

ProgressLines::ProgressLines(llvm::raw_ostream &os, std::string what,
                             std::chrono::milliseconds first)
    : thread([this, &os, what = std::move(what), first] {
        print(os, what, first);
      }) {}

ProgressLines::~ProgressLines() {
  {
    std::lock_guard lock(mutex);
    hasEnded = true;
  }
  ends.notify_one();
  thread.join();
}

void ProgressLines::print(llvm::raw_ostream &os, const std::string &what,
                          std::chrono::milliseconds first) {
  auto begun = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex);
  for (auto after = first;; after *= 2) {
    if (ends.wait_until(lock, begun + after, [&] { return hasEnded; }))
      return;
    os << what << llvm::format(": %g s\n", after.count() / 1000.0);
    os.flush();
  }
}
