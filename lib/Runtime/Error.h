//===- Error.h - Statuses with a message ------------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A failing function leaves its sentence in a buffer of the thread and returns
// the status. The buffer is fixed: reporting an error never allocates.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_ERROR_H
#define TENON_LIB_RUNTIME_ERROR_H

#include "Api.h"

#include <exception>
#include <new>

namespace tenon::runtime {

/// Keeps the message for `tenonLastError` and returns `status`.
[[gnu::format(printf, 2, 3)]] TenonStatus fail(TenonStatus status,
                                               const char *format, ...);

/// Says that `what` knows no device of that kind.
TenonStatus failDeviceType(const char *what, DLDevice device);

/// Runs `function` and turns what it throws into a status, so that nothing
/// crosses the C boundary.
template <typename Function> TenonStatus guarded(Function &&function) noexcept {
  try {
    return function();
  } catch (const std::bad_alloc &) {
    return fail(TENON_DEVICE_ERROR, "out of host memory");
  } catch (const std::exception &exception) {
    return fail(TENON_DEVICE_ERROR, "unexpected host error: %s",
                exception.what());
  } catch (...) {
    return fail(TENON_DEVICE_ERROR, "unexpected host error");
  }
}

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_ERROR_H
