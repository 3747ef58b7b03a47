//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The image of a compiled model in LLVM IR: the globals that the runtime reads
// and the C functions of the model's header.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_HOST_MODELIMAGE_H
#define TENON_CODEGEN_HOST_MODELIMAGE_H

#include "tenon/Codegen/Host/ModelDescription.h"

namespace llvm {
class Module;
} // namespace llvm

namespace mlir::tenon {

/// Adds `tenon_model_image` (Runtime/Runtime.h) and the C functions to
/// `module`, which holds the entries `NAME__cpu`, `NAME__cuda` of the
/// description's functions, and makes everything else local. `fatbin` and
/// `parameters`, the values of packed ones, may be empty.
void addModelImage(llvm::Module &module, const ModelDescription &model,
                   StringRef fatbin, StringRef parameters);

} // namespace mlir::tenon

#endif // TENON_CODEGEN_HOST_MODELIMAGE_H
