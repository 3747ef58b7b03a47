//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits what mbarriers need.
//
//===----------------------------------------------------------------------===//

#include "Mbarrier.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::tenon;

void tenon::emitBarrierInit(KernelBuilder &b, Value barrier, int64_t arrivals) {
  NVVM::MBarrierInitOp::create(b, barrier, b.i32(arrivals),
                               /*predicate=*/Value());
}

void tenon::emitArrival(KernelBuilder &b, Value barrier) {
  b.ptx("mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}",
        b.toAddress(barrier));
}

void tenon::emitExpectBytes(KernelBuilder &b, Value barrier, int64_t bytes) {
  b.ptx("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
        "r,r,~{memory}", {b.toAddress(barrier), b.i32(bytes)});
}

void tenon::emitBarrierWait(KernelBuilder &b, Value barrier, Value parity) {
  // Nanoseconds after which a waiting thread looks again.
  constexpr int64_t ticks = 10000000;
  NVVM::MBarrierTryWaitParityOp::create(b, barrier, parity, b.i32(ticks));
}
