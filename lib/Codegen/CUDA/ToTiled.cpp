//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// --tenon-to-tiled: linear layers of strategy tiled become destination-style
// ops, one kernel each.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CUDA/Passes.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Target/Schedule.h"

namespace mlir::tenon {
#define GEN_PASS_DEF_TENONTOTILED
#include "tenon/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::tenon

using namespace mlir;
using namespace mlir::tenon;

namespace {
struct ToTiled : tenon::impl::TenonToTiledBase<ToTiled> {
  void runOnOperation() override {}
};
} // namespace
