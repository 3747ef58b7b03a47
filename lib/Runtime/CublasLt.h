//===- CublasLt.h - cuBLASLt, opened at first need --------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library is used as it comes: PyTorch's where that is loaded, otherwise
// the one on the loader's path. Version 12 and 13 agree in all that is used
// here. TENON_LIBCUBLASLT names another file.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_CUBLASLT_H
#define TENON_LIB_RUNTIME_CUBLASLT_H

#include "Api.h"

#include <cublasLt.h>

// The "_internal" ones are what the header's inline Init functions call: they
// make descriptors in place, which a call can then copy to its stack.
#define TENON_CUBLASLT_FUNCTIONS(X)                                            \
  X(cublasLtCreate)                                                            \
  X(cublasLtDestroy)                                                           \
  X(cublasLtGetStatusName)                                                     \
  X(cublasLtGetStatusString)                                                   \
  X(cublasLtMatmulDescInit_internal)                                           \
  X(cublasLtMatmulDescSetAttribute)                                            \
  X(cublasLtMatrixLayoutInit_internal)                                         \
  X(cublasLtMatmulPreferenceInit_internal)                                     \
  X(cublasLtMatmulPreferenceSetAttribute)                                      \
  X(cublasLtMatmulAlgoGetHeuristic)                                            \
  X(cublasLtMatmul)

namespace tenon::runtime {

/// cuBLASLt's functions, by their names.
struct CublasLt {
#define TENON_FIELD(name) decltype(&::name) name;
  TENON_CUBLASLT_FUNCTIONS(TENON_FIELD)
#undef TENON_FIELD
};

/// Opens the library once. A failure is not remembered: `import torch` may
/// bring the library later.
TenonStatus getCublasLt(const CublasLt *&library);

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_CUBLASLT_H
