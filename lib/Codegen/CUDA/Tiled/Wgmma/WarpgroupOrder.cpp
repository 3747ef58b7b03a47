//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the barriers between two warpgroups.
//
//===----------------------------------------------------------------------===//

#include "WarpgroupOrder.h"

using namespace mlir;
using namespace mlir::tenon;

void WarpgroupOrder::take() {
  b.ptx("bar.sync $0, 256;", "r,~{memory}",
        b.add(frame.warpgroup, kOrderBarrier - 1));
}

void WarpgroupOrder::pass() {
  b.ptx("bar.arrive $0, 256;", "r,~{memory}",
        b.sub(b.i32(kOrderBarrier + 2), frame.warpgroup));
}
