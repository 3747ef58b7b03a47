//===- BlasLtProduct.h - One request for a product --------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_BLASLTPRODUCT_H
#define TENON_LIB_RUNTIME_BLASLTPRODUCT_H

#include "Call.h"

#include <string>

namespace tenon::runtime {

/// One request, with everything needed to describe it in a message.
struct Product {
  TenonCall &call;
  const TenonBlasLtPlan &plan;
  int64_t m;
  PlanPointers pointers;
  void *workspace;
  /// The plan's k; a small stand-in with zeros for operands where that is 0.
  int64_t k;
  size_t workspaceBytes = kTenonBlasLtWorkspaceBytes;

  bool isEmpty() const { return m == 0 || plan.n == 0; }
};

/// "y[8, 4096] = x[8, 1024] w^T (float32 to float32, computed in tf32, bias)".
std::string describe(const Product &product);

/// Reports that `function` of cuBLASLt answered `status`.
TenonStatus failBlasLt(const Product &product, cublasStatus_t status,
                       const char *function);

/// Points `operation` to the product's bias and scales.
TenonStatus setPointers(const Product &product,
                        cublasLtMatmulDescOpaque_t &operation);

/// Makes the descriptors and asks cuBLASLt for an algorithm.
TenonStatus preparePlan(const Product &product, cublasLtHandle_t handle,
                        PreparedPlan &prepared);

} // namespace tenon::runtime

// The first failing call ends a sequence of them.
#define TENON_BLASLT(function, ...)                                            \
  do {                                                                         \
    if (cublasStatus_t blasLtStatus = blasLt.function(__VA_ARGS__))            \
      return failBlasLt(product, blasLtStatus, #function);                     \
  } while (false)

#endif // TENON_LIB_RUNTIME_BLASLTPRODUCT_H
