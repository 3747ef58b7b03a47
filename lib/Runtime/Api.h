//===- Api.h - The public declarations, exported ----------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library is compiled with -fvisibility=hidden. Whoever defines a function
// of the C interface includes it through this file, which makes it visible.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_API_H
#define TENON_LIB_RUNTIME_API_H

#pragma GCC visibility push(default)
#include "tenon/Runtime/Runtime.h"
#pragma GCC visibility pop

#endif // TENON_LIB_RUNTIME_API_H
