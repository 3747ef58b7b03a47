//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's element types in the table that the runtime has too.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_DATATYPE_H
#define TENON_CODEGEN_DATATYPE_H

#include "tenon/Runtime/DataType.h"

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::tenon {

/// The table's entry for an element type; null if models have no tensors of it.
inline const TenonDataType *findDataType(Type type) {
#define TENON_DATA_TYPE(Id, Number, Mlir, ...)                                 \
  if (isa<Mlir##Type>(type))                                                   \
    return &getTenonDataType(kTenon##Id);
#include "tenon/Runtime/DataTypes.def"
  return nullptr;
}

} // namespace mlir::tenon

#endif // TENON_CODEGEN_DATATYPE_H
