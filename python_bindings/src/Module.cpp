//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Native.h"

#include "tenon/Runtime/DataType.h"

using namespace tenon::python;
namespace nb = nanobind;

/// tenon.dtypes gives the fields their names.
static nb::list listDataTypes() {
  nb::list types;
  for (const TenonDataType &type : kTenonDataTypes)
    types.append(nb::make_tuple(type.name, type.spelling, type.id, type.bytes));
  return types;
}

NB_MODULE(_native, module) {
  module.doc() = "Tenon's compiler and runtime.";
  // PyTorch keeps compiled code, and so models, until the interpreter is gone.
  nb::set_leak_warnings(false);
  module.attr("DATA_TYPES") = listDataTypes();
  bindErrors(module);
  bindCompiler(module);
  bindModel(module);
  bindLauncher(module);
  bindGuard(module);
  bindVersion(module);
  bindPrepared(module);
  bindOp(module);
}
