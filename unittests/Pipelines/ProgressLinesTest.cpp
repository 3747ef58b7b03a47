//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tenon/Pipelines/ProgressLines.h"

#include "gtest/gtest.h"

#include <thread>

using namespace mlir::tenon;
using namespace std::chrono_literals;

TEST(ProgressLines, SaysAfterEachDoubling) {
  std::string text;
  llvm::raw_string_ostream os(text);
  {
    ProgressLines progress(os, "work", 100ms);
    std::this_thread::sleep_for(300ms);
  }
  EXPECT_EQ(text, "work: 0.1 s\nwork: 0.2 s\n");
}

TEST(ProgressLines, SaysNothingOfShortWork) {
  std::string text;
  llvm::raw_string_ostream os(text);
  {
    ProgressLines progress(os, "work", 1h);
  }
  EXPECT_EQ(text, "");
}
