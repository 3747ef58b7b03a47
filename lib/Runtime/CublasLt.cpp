//===- CublasLt.cpp - cuBLASLt, opened at first need ----------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CublasLt.h"

#include "Error.h"
#include "SharedLibrary.h"

#include <atomic>
#include <mutex>

using namespace tenon::runtime;

static TenonStatus openCublasLt(CublasLt &functions) {
  std::string problem;
  void *library = openLibrary(
      "TENON_LIBCUBLASLT", {"libcublasLt.so.13", "libcublasLt.so.12"}, problem);
  if (!library)
    return fail(TENON_NOT_FOUND,
                "no cuBLASLt: %s; put its folder on LD_LIBRARY_PATH (pip's "
                "nvidia-cublas has it in site-packages/nvidia/cu13/lib), set "
                "TENON_LIBCUBLASLT to the file, or import torch first",
                problem.c_str());
#define TENON_RESOLVE(name)                                                    \
  if (!resolve(library, TENON_SYMBOL_NAME(name), functions.name))              \
    return fail(TENON_UNSUPPORTED,                                             \
                "libcublasLt has no function %s; Tenon needs version 12 or "   \
                "13",                                                          \
                TENON_SYMBOL_NAME(name));
  TENON_CUBLASLT_FUNCTIONS(TENON_RESOLVE)
#undef TENON_RESOLVE
  return TENON_OK;
}

TenonStatus tenon::runtime::getCublasLt(const CublasLt *&library) {
  static std::atomic<const CublasLt *> opened{nullptr};
  static std::mutex mutex;
  static CublasLt table;
  library = opened.load(std::memory_order_acquire);
  if (library)
    return TENON_OK;
  std::lock_guard<std::mutex> lock(mutex);
  if (!opened.load(std::memory_order_relaxed)) {
    if (TenonStatus status = openCublasLt(table))
      return status;
    opened.store(&table, std::memory_order_release);
  }
  library = &table;
  return TENON_OK;
}
