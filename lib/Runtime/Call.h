//===- Call.h - One call in flight ------------------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_CALL_H
#define TENON_LIB_RUNTIME_CALL_H

#include "Device.h"
#include "Error.h"

/// Generated code hands it back in every request. The first error stays: its
/// status here, its message in the thread's buffer.
struct TenonCall {
  const tenon::runtime::FunctionInfo &function;
  tenon::runtime::DeviceState *device; ///< null on the CPU
  CUstream stream;
  TenonStatus status = TENON_OK;
};

namespace tenon::runtime {

/// Runs `request` unless the call has failed already, and keeps its error.
template <typename Request>
void inCall(TenonCall *call, const char *what, Request &&request) {
  if (call->status)
    return;
  call->status = call->device ? guarded(request)
                              : fail(TENON_UNSUPPORTED,
                                     "%s: the model's CPU code asked for %s",
                                     call->function.name.c_str(), what);
}

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_CALL_H
