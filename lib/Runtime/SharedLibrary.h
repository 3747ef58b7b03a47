//===- SharedLibrary.h - Opening a library at run time ----------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What libcuda and libcublasLt have in common: a list of names to try, an
// environment variable that overrides it, and a table of functions to fill.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_SHAREDLIBRARY_H
#define TENON_LIB_RUNTIME_SHAREDLIBRARY_H

#include <cstdlib>
#include <dlfcn.h>
#include <initializer_list>
#include <string>

// Two steps, so that a macro such as cuCtxPushCurrent names the versioned
// symbol it stands for.
#define TENON_SYMBOL_NAME_IMPL(name) #name
#define TENON_SYMBOL_NAME(name) TENON_SYMBOL_NAME_IMPL(name)

namespace tenon::runtime {

/// Opens the file named by `environment`, or else the first of `names` that is
/// there; one that the process has loaded already (PyTorch's) comes first. Null
/// on failure, with the loader's reasons in `problem`. Never closed: the driver
/// does not support that.
inline void *openLibrary(const char *environment,
                         std::initializer_list<const char *> names,
                         std::string &problem) {
  const char *path = std::getenv(environment);
  if (path && *path) {
    if (void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL))
      return library;
    problem = std::string(environment) + "=" + path + ": " + dlerror();
    return nullptr;
  }
  for (const char *name : names)
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
      return library;
  for (const char *name : names) {
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
      return library;
    problem += (problem.empty() ? "" : "; ") + std::string(dlerror());
  }
  return nullptr;
}

/// Sets `function` to the symbol `name`; false where the library lacks it.
template <typename Function>
bool resolve(void *library, const char *name, Function *&function) {
  function = reinterpret_cast<Function *>(dlsym(library, name));
  return function != nullptr;
}

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_SHAREDLIBRARY_H
