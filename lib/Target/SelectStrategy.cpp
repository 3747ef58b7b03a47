//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-select-strategy: chooses how each linear layer is computed.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/Passes.h"
#include "tenon/Target/Schedule.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONSELECTSTRATEGY
#include "tenon/Target/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

namespace {
struct SelectStrategy : tenon::impl::TenonSelectStrategyBase<SelectStrategy> {
  using Base::Base;
  void runOnOperation() override {}
};
} // namespace
