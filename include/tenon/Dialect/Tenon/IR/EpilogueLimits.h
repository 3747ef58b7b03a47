//===- EpilogueLimits.h - What one epilogue can take ------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_EPILOGUELIMITS_H
#define TENON_DIALECT_TENON_IR_EPILOGUELIMITS_H

namespace mlir::tenon {

/// The most operands and the most results that ops are gathered to: a kernel
/// has each as a pointer among its parameters, which ptxas limits to 4352
/// bytes.
inline constexpr unsigned kMaxEpilogueOperands = 256, kMaxEpilogueResults = 256;

/// The most ops that are gathered: compilers take a time that grows with the
/// square of a kernel's length. Of gelu, 300 took 1 s for the CPU and 2 s for a
/// GPU, and 1200 took 10 s.
inline constexpr unsigned kMaxEpilogueOps = 512;

/// The most tensors that the epilogue of a tiled kernel reads and writes, the
/// most of its ops that are built on exp, log, erf or tanh, and the most
/// divisions of elements that are written as such: each stands in the kernel as
/// often as a thread has elements. 32 residuals took ptxas 4 s, 64 took 12 s,
/// and 128 took 40 s; 16 gelu took 3 s, and 64 took 14 s; 2 divisions, for each
/// of which ptxas has a branch and a call, took 4 s with wgmma, 3 took 12 s,
/// and 4 took 24 s.
inline constexpr unsigned kMaxTiledOperands = 32, kMaxTiledHeavyOps = 32,
                          kMaxTiledDivisions = 2;

} // namespace mlir::tenon

#endif // TENON_DIALECT_TENON_IR_EPILOGUELIMITS_H
