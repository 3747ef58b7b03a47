//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the families of kernels known to all tests of this program.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/RegisterFamilies.h"

#include "gtest/gtest.h"

namespace {
class Families : public testing::Environment {
  void SetUp() override { mlir::tenon::registerScheduleFamilies(); }
};
} // namespace

static const testing::Environment *const environment =
    testing::AddGlobalTestEnvironment(new Families);
