//===- BlasLtPlan.cpp - Telling cuBLASLt about a product ------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuBLASLt thinks in columns. A row-major y[M,N] is the column-major [N,M], so
// what it computes is y = W x: A is w seen as [K,N] and transposed, B is x seen
// as [K,M], and the bias runs along the rows of the result, which is its rule.
// A w that is given as [K,N] is seen as [N,K], and not transposed; an x that is
// given as [K,M] is seen as [M,K], and is.
//
//===----------------------------------------------------------------------===//

#include "BlasLtProduct.h"

#include <cinttypes>
#include <utility>

using namespace tenon::runtime;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static cudaDataType dataType(TenonDType type) {
  switch (type) {
#define TENON_DATA_TYPE(Id, Number, Mlir, Spelling, Name, Bytes, DLPack,       \
                        NumPy, Cuda, ...)                                      \
  case kTenon##Id:                                                             \
    return CUDA_R_##Cuda;
#include "tenon/Runtime/DataTypes.def"
  }
  return CUDA_R_32F;
}

static cublasComputeType_t computeType(TenonCompute compute) {
  switch (compute) {
  case kTenonComputeF32:
    return CUBLAS_COMPUTE_32F;
  case kTenonComputeTF32:
    return CUBLAS_COMPUTE_32F_FAST_TF32;
  case kTenonComputeBF16:
    return CUBLAS_COMPUTE_32F_FAST_16BF;
  case kTenonComputeF16:
    return CUBLAS_COMPUTE_32F_FAST_16F;
  case kTenonComputeF64:
    return CUBLAS_COMPUTE_64F;
  }
  return CUBLAS_COMPUTE_32F;
}

static cublasLtEpilogue_t epilogue(const TenonBlasLtPlan &plan) {
  bool bias = plan.hasBias;
  switch (plan.activation) {
  case kTenonEpilogueNone:
    return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  case kTenonEpilogueRelu:
    return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  case kTenonEpilogueGeluTanh:
    return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string tenon::runtime::describe(const Product &product) {
  static const char *const computes[] = {"fp32", "tf32", "bf16", "fp16",
                                         "fp64"};
  static const char *const activations[] = {"", ", relu", ", gelu"};
  static const char *const scales[] = {"", ", scaled", ", rows scaled"};
  const TenonBlasLtPlan &plan = product.plan;
  char text[512];
  snprintf(text, sizeof(text),
           "y[%" PRId64 ", %" PRId64 "] = x[%" PRId64 ", %" PRId64
           "] w^T (%s%s%s to %s, computed in %s%s%s%s%s)",
           product.m, plan.n, product.m, plan.k,
           plan.transposed & kTenonXTransposed ? "x transposed, " : "",
           plan.transposed & kTenonWTransposed ? "w transposed, " : "",
           getTenonDataType(plan.inputType).name,
           getTenonDataType(plan.outputType).name, computes[plan.compute],
           scales[plan.scales], plan.hasBias ? ", bias" : "",
           plan.beta != 0 ? ", + c" : "", activations[plan.activation]);
  return text;
}

TenonStatus tenon::runtime::failBlasLt(const Product &product,
                                       cublasStatus_t status,
                                       const char *function) {
  const CublasLt &blasLt = *product.call.device->blasLt;
  const char *name = product.call.function.name.c_str();
  if (status == CUBLAS_STATUS_NOT_SUPPORTED)
    return fail(TENON_UNSUPPORTED,
                "%s: cuBLASLt has no algorithm for %s on GPU %d; compile the "
                "model with the tiled strategy for this layer",
                name, describe(product).c_str(), product.call.device->ordinal);
  return fail(TENON_DEVICE_ERROR, "%s: %s failed on GPU %d for %s: %s (%s)",
              name, function, product.call.device->ordinal,
              describe(product).c_str(), blasLt.cublasLtGetStatusName(status),
              blasLt.cublasLtGetStatusString(status));
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

TenonStatus tenon::runtime::setPointers(const Product &product,
                                        cublasLtMatmulDescOpaque_t &operation) {
  const CublasLt &blasLt = *product.call.device->blasLt;
  const PlanPointers &pointers = product.pointers;
  if (product.plan.hasBias)
    TENON_BLASLT(cublasLtMatmulDescSetAttribute, &operation,
                 CUBLASLT_MATMUL_DESC_BIAS_POINTER, &pointers.bias,
                 sizeof(pointers.bias));
  if (!product.plan.scales)
    return TENON_OK;
  TENON_BLASLT(cublasLtMatmulDescSetAttribute, &operation,
               CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &pointers.wScale,
               sizeof(pointers.wScale));
  TENON_BLASLT(cublasLtMatmulDescSetAttribute, &operation,
               CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &pointers.xScale,
               sizeof(pointers.xScale));
  return TENON_OK;
}

/// Scales of rows are cuBLASLt's outer vectors, which 12.9 began to have.
static TenonStatus setScaleModes(const Product &product,
                                 cublasLtMatmulDescOpaque_t &operation) {
  const CublasLt &blasLt = *product.call.device->blasLt;
  int32_t mode = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
  for (cublasLtMatmulDescAttributes_t attribute :
       {CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_DESC_B_SCALE_MODE})
    TENON_BLASLT(cublasLtMatmulDescSetAttribute, &operation, attribute, &mode,
                 sizeof(mode));
  return TENON_OK;
}

static TenonStatus describeOperation(const Product &product,
                                     cublasLtMatmulDescOpaque_t &operation) {
  const CublasLt &blasLt = *product.call.device->blasLt;
  const TenonBlasLtPlan &plan = product.plan;
  cudaDataType scale =
      plan.compute == kTenonComputeF64 ? CUDA_R_64F : CUDA_R_32F;
  TENON_BLASLT(cublasLtMatmulDescInit_internal, &operation, sizeof(operation),
               computeType(plan.compute), scale);
  cublasOperation_t w =
      plan.transposed & kTenonWTransposed ? CUBLAS_OP_N : CUBLAS_OP_T;
  TENON_BLASLT(cublasLtMatmulDescSetAttribute, &operation,
               CUBLASLT_MATMUL_DESC_TRANSA, &w, sizeof(w));
  cublasOperation_t x =
      plan.transposed & kTenonXTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  TENON_BLASLT(cublasLtMatmulDescSetAttribute, &operation,
               CUBLASLT_MATMUL_DESC_TRANSB, &x, sizeof(x));
  cublasLtEpilogue_t last = epilogue(plan);
  TENON_BLASLT(cublasLtMatmulDescSetAttribute, &operation,
               CUBLASLT_MATMUL_DESC_EPILOGUE, &last, sizeof(last));
  if (plan.scales == kTenonScalesRows)
    if (TenonStatus status = setScaleModes(product, operation))
      return status;
  // The heuristic reads the pointers for their alignment.
  return setPointers(product, operation);
}

static TenonStatus describeLayouts(const Product &product,
                                   PreparedPlan &prepared) {
  const CublasLt &blasLt = *product.call.device->blasLt;
  const TenonBlasLtPlan &plan = product.plan;
  auto init = blasLt.cublasLtMatrixLayoutInit_internal;
  cudaDataType in = dataType(plan.inputType), out = dataType(plan.outputType);
  // Rows of `columns` elements, which are cuBLASLt's columns.
  auto initInput = [&](cublasLtMatrixLayoutOpaque_t &layout, int64_t rows,
                       bool transposed) {
    int64_t columns = product.k;
    if (transposed)
      std::swap(rows, columns);
    return init(&layout, sizeof(layout), in, columns, rows, columns);
  };
  cublasStatus_t result =
      initInput(prepared.w, plan.n, plan.transposed & kTenonWTransposed);
  if (!result)
    result =
        initInput(prepared.x, product.m, plan.transposed & kTenonXTransposed);
  if (!result)
    result =
        init(&prepared.y, sizeof(prepared.y), out, plan.n, product.m, plan.n);
  return result ? failBlasLt(product, result, "cublasLtMatrixLayoutInit")
                : TENON_OK;
}

/// How partial sums along K may be added: not in a result type of 16 bits,
/// which would round each of them.
static uint32_t reductionSchemes(const TenonBlasLtPlan &plan) {
  bool isShort = getTenonDataType(plan.outputType).bytes < 4;
  return isShort ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
                 : CUBLASLT_REDUCTION_SCHEME_MASK;
}

static TenonStatus
describePreference(const Product &product,
                   cublasLtMatmulPreferenceOpaque_t &preference) {
  const CublasLt &blasLt = *product.call.device->blasLt;
  const PlanPointers &pointers = product.pointers;
  TENON_BLASLT(cublasLtMatmulPreferenceInit_internal, &preference,
               sizeof(preference));
  TENON_BLASLT(cublasLtMatmulPreferenceSetAttribute, &preference,
               CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
               &product.workspaceBytes, sizeof(product.workspaceBytes));
  uint32_t schemes = reductionSchemes(product.plan);
  TENON_BLASLT(cublasLtMatmulPreferenceSetAttribute, &preference,
               CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes,
               sizeof(schemes));
  const std::pair<cublasLtMatmulPreferenceAttributes_t, const void *>
      alignments[] = {{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, pointers.w},
                      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, pointers.x},
                      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, pointers.c},
                      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, pointers.y}};
  for (auto [attribute, pointer] : alignments) {
    uint32_t bytes = 1u << alignmentLog2(pointer);
    TENON_BLASLT(cublasLtMatmulPreferenceSetAttribute, &preference, attribute,
                 &bytes, sizeof(bytes));
  }
  return TENON_OK;
}

static TenonStatus chooseAlgorithm(const Product &product,
                                   cublasLtHandle_t handle,
                                   PreparedPlan &prepared) {
  const CublasLt &blasLt = *product.call.device->blasLt;
  cublasLtMatmulPreferenceOpaque_t preference;
  if (TenonStatus status = describePreference(product, preference))
    return status;
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  TENON_BLASLT(cublasLtMatmulAlgoGetHeuristic, handle, &prepared.operation,
               &prepared.w, &prepared.x, &prepared.y, &prepared.y, &preference,
               1, &result, &found);
  if (found < 1 || result.state != CUBLAS_STATUS_SUCCESS)
    return failBlasLt(product, CUBLAS_STATUS_NOT_SUPPORTED, "");
  prepared.algorithm = result.algo;
  return TENON_OK;
}

TenonStatus tenon::runtime::preparePlan(const Product &product,
                                        cublasLtHandle_t handle,
                                        PreparedPlan &prepared) {
  if (TenonStatus status = describeOperation(product, prepared.operation))
    return status;
  if (TenonStatus status = describeLayouts(product, prepared))
    return status;
  return chooseAlgorithm(product, handle, prepared);
}
