//===- Error.cpp - Statuses with a message --------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Error.h"

#include <cstdarg>
#include <cstdio>

#ifndef TENON_VERSION
#define TENON_VERSION "0.1.0"
#endif

/// Messages longer than this are cut; they quote names, not whole files.
static thread_local char lastError[2048] = "";

TenonStatus tenon::runtime::fail(TenonStatus status, const char *format, ...) {
  // Formatted aside: an argument may be the previous message itself.
  char message[sizeof(lastError)];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  snprintf(lastError, sizeof(lastError), "%s", message);
  return status;
}

const char *tenonLastError(void) { return lastError; }

const char *tenonRuntimeVersion(void) { return TENON_VERSION; }

TenonStatus tenon::runtime::failDeviceType(const char *what, DLDevice device) {
  return fail(TENON_INVALID_ARGUMENT,
              "%s: device type %d; kDLCPU (1) and kDLCUDA (2) are known", what,
              static_cast<int>(device.device_type));
}
