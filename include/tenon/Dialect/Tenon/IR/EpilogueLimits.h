//===- EpilogueLimits.h - What one epilogue can take ------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_EPILOGUELIMITS_H
#define TENON_DIALECT_TENON_IR_EPILOGUELIMITS_H

namespace mlir::tenon {

/// The most operands that ops are gathered to: a kernel has each as a pointer
/// among its parameters, which ptxas limits to 4352 bytes.
inline constexpr unsigned kMaxEpilogueOperands = 256;

} // namespace mlir::tenon

#endif // TENON_DIALECT_TENON_IR_EPILOGUELIMITS_H
