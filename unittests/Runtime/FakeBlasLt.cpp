//===- FakeBlasLt.cpp - A cuBLASLt for tests ------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fakes.h"

#include <algorithm>
#include <cstring>

using namespace fake;

static constexpr uint64_t kMagic = 0x7e1101;

template <typename Record> static Record read(const void *opaque) {
  Record record;
  memcpy(&record, opaque, sizeof(record));
  return record;
}

template <typename Record> static void write(void *opaque, Record record) {
  memcpy(opaque, &record, sizeof(record));
}

/// Element (i, j) of a column-major matrix.
template <typename Element>
static Element at(const void *matrix, const Layout &layout, uint64_t i,
                  uint64_t j) {
  return static_cast<const Element *>(matrix)[i + j * layout.ld];
}

template <typename Element> static void multiply(const Matmul &matmul) {
  const auto &[a, b, c, d] = matmul.pointers;
  const Operation &operation = matmul.operation;
  bool hasBias = operation.epilogue & CUBLASLT_EPILOGUE_BIAS;
  bool hasRelu = operation.epilogue & CUBLASLT_EPILOGUE_RELU;
  auto *bias = reinterpret_cast<const Element *>(operation.bias);
  uint64_t inner = operation.transposeB ? matmul.b.columns : matmul.b.rows;
  for (uint64_t i = 0; i < matmul.d.rows; ++i)
    for (uint64_t j = 0; j < matmul.d.columns; ++j) {
      double sum = 0;
      for (uint64_t k = 0; k < inner; ++k)
        sum += at<Element>(a, matmul.a, operation.transposeA ? k : i,
                           operation.transposeA ? i : k) *
               at<Element>(b, matmul.b, operation.transposeB ? j : k,
                           operation.transposeB ? k : j);
      double value = matmul.alpha * sum + (hasBias ? bias[i] : 0);
      if (matmul.beta != 0)
        value += matmul.beta * at<Element>(c, matmul.c, i, j);
      if (hasRelu)
        value = std::max(value, 0.0);
      static_cast<Element *>(const_cast<void *>(d))[i + j * matmul.d.ld] =
          static_cast<Element>(value);
    }
}

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  if (!currentContext())
    return CUBLAS_STATUS_NOT_INITIALIZED;
  ++state().handles;
  *handle = reinterpret_cast<cublasLtHandle_t>(currentContext());
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t) {
  --state().handles;
  return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                               : "CUBLAS_STATUS_OTHER";
}

const char *cublasLtGetStatusString(cublasStatus_t) {
  return "described by the fake";
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t operation,
                                               size_t,
                                               cublasComputeType_t compute,
                                               cudaDataType_t scale) {
  write(operation, Operation{kMagic, static_cast<uint64_t>(compute),
                             static_cast<uint64_t>(scale), 0, 0,
                             CUBLASLT_EPILOGUE_DEFAULT, 0, 0, 0, 0, 0});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  auto record = read<Operation>(operation);
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    record.transposeA = read<int32_t>(value) == CUBLAS_OP_T;
    break;
  case CUBLASLT_MATMUL_DESC_TRANSB:
    record.transposeB = read<int32_t>(value) == CUBLAS_OP_T;
    break;
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    record.epilogue = read<uint32_t>(value);
    break;
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    record.bias = read<uint64_t>(value);
    break;
  case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
    record.scaleA = read<uint64_t>(value);
    break;
  case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
    record.scaleB = read<uint64_t>(value);
    break;
  case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
    record.scaleModeA = read<uint32_t>(value);
    break;
  case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
    record.scaleModeB = read<uint32_t>(value);
    break;
  default:
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  write(operation, record);
  return bytes == 4 || bytes == 8 ? CUBLAS_STATUS_SUCCESS
                                  : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout,
                                                 size_t, cudaDataType type,
                                                 uint64_t rows,
                                                 uint64_t columns, int64_t ld) {
  // Stricter than cuBLASLt 13, which leaves empty matrices to later calls.
  if (rows == 0 || columns == 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  write(layout, Layout{kMagic, static_cast<uint64_t>(type), rows, columns,
                       static_cast<uint64_t>(ld)});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference,
                                      size_t) {
  write(preference,
        Preference{
            kMagic, 0, {256, 256, 256, 256}, CUBLASLT_REDUCTION_SCHEME_MASK});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  auto record = read<Preference>(preference);
  int operand = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == 8)
    record.workspaceBytes = read<uint64_t>(value);
  else if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK &&
           bytes == 4)
    record.reductionSchemes = read<uint32_t>(value);
  else if (operand >= 0 && operand < 4 && bytes == 4)
    record.alignment[operand] = read<uint32_t>(value);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  write(preference, record);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int,
    cublasLtMatmulHeuristicResult_t *result, int *found) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (s.heuristicStatus)
    return s.heuristicStatus;
  *found = s.heuristicCount;
  int number = s.numHeuristics++;
  s.heuristics[number] = {read<Operation>(operation),
                          read<Layout>(a),
                          read<Layout>(b),
                          read<Layout>(c),
                          read<Layout>(d),
                          read<Preference>(preference)};
  result->algo.data[0] = number;
  result->state = CUBLAS_STATUS_SUCCESS;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                              const void *alpha, const void *a,
                              cublasLtMatrixLayout_t aLayout, const void *b,
                              cublasLtMatrixLayout_t bLayout, const void *beta,
                              const void *c, cublasLtMatrixLayout_t cLayout,
                              void *d, cublasLtMatrixLayout_t dLayout,
                              const cublasLtMatmulAlgo_t *algorithm,
                              void *workspace, size_t workspaceBytes,
                              cudaStream_t stream) {
  Matmul matmul{read<Operation>(operation),
                read<Layout>(aLayout),
                read<Layout>(bLayout),
                read<Layout>(cLayout),
                read<Layout>(dLayout),
                0,
                0,
                {a, b, c, d},
                workspace,
                workspaceBytes,
                reinterpret_cast<CUstream>(stream),
                algorithm->data[0],
                reinterpret_cast<Context *>(currentContext())->device};
  bool isDouble = matmul.operation.scale == CUDA_R_64F;
  matmul.alpha = isDouble ? read<double>(alpha) : read<float>(alpha);
  matmul.beta = isDouble ? read<double>(beta) : read<float>(beta);
  if (matmul.a.magic != kMagic || matmul.operation.magic != kMagic)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (matmul.d.type == CUDA_R_32F && matmul.a.type == CUDA_R_32F)
    multiply<float>(matmul);
  else if (matmul.d.type == CUDA_R_64F)
    multiply<double>(matmul);
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (s.numMatmuls < kMaxRecords)
    s.matmuls[s.numMatmuls++] = matmul;
  return CUBLAS_STATUS_SUCCESS;
}

} // extern "C"
