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

/// Named barriers 0 to 2, 5 and 6 are TiledFrame's; these are the first
/// warpgroup's and the second's, on which each waits for the other.
static constexpr int64_t kFirstBarrier = 3;

void WarpgroupOrder::take() {
  b.ptx("bar.sync $0, 256;", "r,~{memory}",
        b.add(frame.warpgroup, kFirstBarrier - 1));
}

void WarpgroupOrder::pass() {
  b.ptx("bar.arrive $0, 256;", "r,~{memory}",
        b.sub(b.i32(kFirstBarrier + 2), frame.warpgroup));
}
