//===- CpuLevel.h - What this CPU can run -----------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code compiled for a newer x86-64 level would die of SIGILL; the levels are
// those of the psABI, as `tenon-compile --target=` names them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_CPULEVEL_H
#define TENON_LIB_RUNTIME_CPULEVEL_H

#include <string>

namespace tenon::runtime {

/// Empty where this CPU has `level` ("" is the architecture's base); otherwise
/// what is missing and what to do.
inline std::string missingCpuLevel(const std::string &level) {
  if (level.empty() || level == "generic")
    return "";
#if defined(__aarch64__)
  if (level == "aarch64")
    return "";
#endif
#if defined(__x86_64__)
  bool known = true, present = true;
  if (level == "x86-64-v2")
    present = __builtin_cpu_supports("x86-64-v2");
  else if (level == "x86-64-v3")
    present = __builtin_cpu_supports("x86-64-v3");
  else if (level == "x86-64-v4")
    present = __builtin_cpu_supports("x86-64-v4");
  else
    known = level == "x86-64";
  if (known && present)
    return "";
  if (known)
    return "this CPU lacks " + level +
           ", for which the model's CPU code was compiled; compile it with "
           "tenon-compile --cpu=x86-64-v2";
#endif
  return "its CPU code was compiled for '" + level +
         "', which this runtime cannot check; compile it with tenon-compile "
         "--cpu=x86-64-v2, x86-64-v3 or x86-64-v4";
}

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_CPULEVEL_H
