//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PIPELINES_PROGRESSLINES_H
#define TENON_PIPELINES_PROGRESSLINES_H

#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace mlir::tenon {

/// Says as long as it lives that work goes on: after some time, after twice
/// that, and so on.
class ProgressLines {
public:
  ProgressLines(llvm::raw_ostream &os, std::string what,
                std::chrono::milliseconds first);
  ProgressLines(const ProgressLines &) = delete;
  ~ProgressLines();

private:
  void print(llvm::raw_ostream &os, const std::string &what,
             std::chrono::milliseconds first);

  std::mutex mutex;
  std::condition_variable ends;
  bool hasEnded = false;
  std::thread thread; ///< last: it uses what is above
};

} // namespace mlir::tenon

#endif // TENON_PIPELINES_PROGRESSLINES_H
