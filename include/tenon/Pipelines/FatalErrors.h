//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PIPELINES_FATALERRORS_H
#define TENON_PIPELINES_FATALERRORS_H

namespace mlir::tenon {

/// Makes the process end with exit code 1 and a message that begins with
/// `program`, a literal, where there is no more memory, or LLVM can do nothing
/// but give up; by default it aborts. For programs alone.
void exitOnFatalErrors(const char *program);

} // namespace mlir::tenon

#endif // TENON_PIPELINES_FATALERRORS_H
