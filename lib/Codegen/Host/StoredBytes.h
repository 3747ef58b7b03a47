//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_HOST_STOREDBYTES_H
#define TENON_LIB_CODEGEN_HOST_STOREDBYTES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::tenon {

/// From one element of a buffer to the next, in bytes; 0 where that is not
/// known. An i1 takes a whole byte, as in LLVM's arrays.
inline int64_t getStoredBytes(Type element) {
  if (element.isIndex())
    return 8;
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() > 128)
    return 0;
  return llvm::PowerOf2Ceil(
      llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
}

} // namespace mlir::tenon

#endif // TENON_LIB_CODEGEN_HOST_STOREDBYTES_H
