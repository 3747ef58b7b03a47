//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpFailure.h"

#include <dlfcn.h>
#include <new>
#include <typeinfo>

using namespace tenon::python;
namespace nb = nanobind;

static std::string messageOf(nb::handle exception) {
  try {
    return nb::str(exception).c_str();
  } catch (nb::python_error &) {
    return nb::type_name(exception.type()).c_str();
  }
}

OpFailure::OpFailure(nb::handle exception)
    : builtin_exception(messageOf(exception)),
      exception(exception.inc_ref().ptr(), [](PyObject *object) {
        if (!Py_IsInitialized())
          return;
        nb::gil_scoped_acquire locked;
        Py_DECREF(object);
      }) {}

void OpFailure::set_error() const {
  if (!exception)
    return setError(status, what());
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(exception.get())),
                  exception.get());
}

//===----------------------------------------------------------------------===//
// Throwing
//===----------------------------------------------------------------------===//

namespace {

/// Functions of the Itanium C++ ABI.
struct Thrower {
  void *(*allocate)(size_t bytes);
  void (*raise)(void *exception, const std::type_info *type,
                void (*destroy)(void *));
};

} // namespace

static Thrower findThrower() {
  void *library = dlopen("libstdc++.so.6", RTLD_NOLOAD | RTLD_LAZY);
  if (!library)
    return {};
  return {reinterpret_cast<decltype(Thrower::allocate)>(
              dlsym(library, "__cxa_allocate_exception")),
          reinterpret_cast<decltype(Thrower::raise)>(
              dlsym(library, "__cxa_throw"))};
}

[[gnu::noinline]] static const Thrower &thrower() noexcept {
  static const Thrower found = findThrower();
  return found;
}

static void destroy(void *failure) {
  static_cast<OpFailure *>(failure)->~OpFailure();
}

/// Moves the failure to memory of the thrower's.
[[gnu::noinline]] static void *moveTo(const Thrower &thrower,
                                      OpFailure *failure) noexcept {
  void *memory = thrower.allocate(sizeof(OpFailure));
  new (memory) OpFailure(std::move(*failure));
  delete failure;
  return memory;
}

[[noreturn, gnu::noinline]] static void throwHere(OpFailure *failure) {
  OpFailure copy = std::move(*failure);
  delete failure;
  throw copy;
}

void tenon::python::throwToTorch(OpFailure *failure) {
  const Thrower &other = thrower();
  if (!other.allocate || !other.raise)
    throwHere(failure);
  other.raise(moveTo(other, failure), &typeid(OpFailure), destroy);
  __builtin_unreachable();
}
