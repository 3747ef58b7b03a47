//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opening a model, which may have to be compiled first.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_MODEL_H
#define TENON_TOOLS_TENON_RUN_MODEL_H

#include "Description.h"
#include "tenon-c/Model.h"

#include <memory>

namespace tenon::run {

struct CloseModel {
  void operator()(TenonModel *model) const { tenonModelClose(model); }
};
using ModelHandle = std::unique_ptr<TenonModel, CloseModel>;

/// Is it text that tenon-compile reads?
bool isSource(const std::string &path);

/// Opens a shared object of tenon-compile.
ModelHandle openCompiled(const std::string &path);

/// tenon-compile has failed and has said why.
struct CompileFailure {
  int status;
};

/// Compiles `source` with the tenon-compile beside this program and opens the
/// result, which leaves no file behind. Throws CompileFailure too.
ModelHandle compileAndOpen(const std::string &source,
                           const std::vector<std::string> &options);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_MODEL_H
