//===- BlasLtRun.cpp - A product by cuBLASLt ------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlasLtProduct.h"

#include <algorithm>
#include <cinttypes>

using namespace tenon::runtime;

/// An empty sum is 0, but cuBLASLt does not promise to take an empty matrix.
/// Multiplies zeros, of 16 bytes a row, from the first half of the workspace.
static TenonStatus standInForEmptySum(Product &product) {
  DeviceState &device = *product.call.device;
  product.k = 16 / getTenonDataType(product.plan.inputType).bytes;
  size_t bytes = 16 * static_cast<size_t>(std::max(product.m, product.plan.n));
  size_t half = kTenonBlasLtWorkspaceBytes / 2;
  if (bytes > half)
    return fail(TENON_UNSUPPORTED,
                "%s: %s has no inner dimension, which is supported up to "
                "%zu rows",
                product.call.function.name.c_str(), describe(product).c_str(),
                half / 16);
  auto zeros = reinterpret_cast<CUdeviceptr>(product.workspace);
  if (CUresult result =
          device.driver.cuMemsetD8Async(zeros, 0, bytes, product.call.stream)) {
    CudaErrorText error(device.driver, result);
    return fail(TENON_DEVICE_ERROR, "%s: cuMemsetD8Async failed: %s (%s)",
                product.call.function.name.c_str(), error.name, error.text);
  }
  product.pointers.x = product.pointers.w = product.workspace;
  product.workspace = static_cast<char *>(product.workspace) + half;
  product.workspaceBytes = half;
  return TENON_OK;
}

static TenonStatus enqueue(const Product &product, cublasLtHandle_t handle,
                           PreparedPlan &prepared) {
  const CublasLt &blasLt = *product.call.device->blasLt;
  const TenonBlasLtPlan &plan = product.plan;
  const PlanPointers &pointers = product.pointers;
  if (TenonStatus status = setPointers(product, prepared.operation))
    return status;
  double alpha64 = plan.k ? plan.alpha : 0, beta64 = plan.beta;
  float alpha32 = static_cast<float>(alpha64);
  float beta32 = static_cast<float>(beta64);
  bool isDouble = plan.compute == kTenonComputeF64;
  const void *alpha = isDouble ? static_cast<void *>(&alpha64) : &alpha32;
  const void *beta = isDouble ? static_cast<void *>(&beta64) : &beta32;
  TENON_BLASLT(cublasLtMatmul, handle, &prepared.operation, alpha, pointers.w,
               &prepared.w, pointers.x, &prepared.x, beta, pointers.c,
               &prepared.y, pointers.y, &prepared.y, &prepared.algorithm,
               product.workspace, product.workspaceBytes, product.call.stream);
  return TENON_OK;
}

/// Mistakes of generated code, or of whoever called it by hand.
static TenonStatus checkPlan(const Product &product) {
  const TenonBlasLtPlan &plan = product.plan;
  const char *name = product.call.function.name.c_str();
  if (product.m < 0 || plan.n < 0 || plan.k < 0)
    return fail(TENON_INVALID_ARGUMENT,
                "%s: negative extent in a plan of M %" PRId64 ", N %" PRId64
                ", K %" PRId64,
                name, product.m, plan.n, plan.k);
  if (product.isEmpty()) // tensors without elements may have no memory
    return TENON_OK;
  if (plan.hasBias && !product.pointers.bias)
    return fail(TENON_INVALID_ARGUMENT, "%s: %s is given no bias", name,
                describe(product).c_str());
  if (plan.scales && !(product.pointers.xScale && product.pointers.wScale))
    return fail(TENON_INVALID_ARGUMENT, "%s: %s is given no scales", name,
                describe(product).c_str());
  if (plan.beta != 0 && !product.pointers.c)
    return fail(TENON_INVALID_ARGUMENT, "%s: %s is given no c", name,
                describe(product).c_str());
  return TENON_OK;
}

static TenonStatus multiply(Product &product) {
  if (TenonStatus status = checkPlan(product))
    return status;
  if (product.isEmpty())
    return TENON_OK;
  DeviceState &device = *product.call.device;
  cublasLtHandle_t handle;
  if (TenonStatus status = device.blasLtHandle(handle))
    return status;
  if (product.plan.k == 0)
    if (TenonStatus status = standInForEmptySum(product))
      return status;
  PlanPointers &pointers = product.pointers;
  // Not read where beta is 0, but it must be a matrix.
  if (product.plan.beta == 0)
    pointers.c = pointers.y;
  uint64_t alignments = 0;
  for (const void *pointer : {pointers.x, pointers.w, pointers.c,
                              static_cast<const void *>(pointers.y),
                              product.plan.hasBias ? pointers.bias : nullptr})
    alignments = alignments << 4 | alignmentLog2(pointer);
  PreparedPlan prepared;
  TenonStatus status = device.plans.find(
      {&product.plan, product.m, alignments}, prepared,
      [&](PreparedPlan &made) { return preparePlan(product, handle, made); });
  return status ? status : enqueue(product, handle, prepared);
}

void tenonBlasLtRun(TenonCall *call, const TenonBlasLtPlan *plan, int64_t m,
                    const void *x, const void *w, const void *xScale,
                    const void *wScale, const void *bias, const void *c,
                    void *y, void *workspace) {
  inCall(call, "a cuBLASLt product", [&] {
    Product product{*call,     *plan,  m, {x, w, xScale, wScale, bias, c, y},
                    workspace, plan->k};
    return multiply(product);
  });
}
