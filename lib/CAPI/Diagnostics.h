//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hands MLIR's diagnostics and remarks to a handler in C.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CAPI_DIAGNOSTICS_H
#define TENON_LIB_CAPI_DIAGNOSTICS_H

#include "tenon-c/Compiler.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"

namespace mlir::tenon {

/// The caller's handler, null where it wants to hear nothing.
class DiagnosticSink {
public:
  DiagnosticSink(TenonDiagnosticHandler handler, void *user)
      : handler(handler), user(user) {}

  /// Takes over the diagnostics of `context`, and its remarks where they are
  /// `wanted`. The sink must outlive the context.
  void attach(MLIRContext &context, bool remarksWanted);

  /// An error that has no place in the source.
  void error(StringRef message) const;

  void give(const TenonDiagnostic &diagnostic) const {
    if (handler)
      handler(&diagnostic, user);
  }

private:
  TenonDiagnosticHandler handler;
  void *user;
};

} // namespace mlir::tenon

#endif // TENON_LIB_CAPI_DIAGNOSTICS_H
