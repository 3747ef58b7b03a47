//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values of one float type as values of another.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_HOST_ROUNDVALUES_H
#define TENON_LIB_CODEGEN_HOST_ROUNDVALUES_H

#include "tenon/Runtime/DataType.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mlir::tenon {

/// Appends `values`, elements of `from` in memory, to `output` as elements of
/// `to`, rounded to the nearest. Returns a finite one that `to` has not even an
/// approximation of, if there is any.
std::optional<double> appendRounded(llvm::StringRef values,
                                    const TenonDataType &from,
                                    const TenonDataType &to,
                                    std::string &output);

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_HOST_ROUNDVALUES_H
