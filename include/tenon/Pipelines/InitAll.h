//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers what every tool needs: Tenon's dialects, passes and pipelines, and
// the upstream ones that they are used with.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PIPELINES_INITALL_H
#define TENON_PIPELINES_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::tenon {

/// Dialects with their interfaces and translations.
void registerAllDialects(DialectRegistry &registry);

/// Passes and named pipelines, for tools that take them by name.
void registerAllPasses();

} // namespace mlir::tenon

#endif // TENON_PIPELINES_INITALL_H
