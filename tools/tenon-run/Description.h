//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a model says of itself in its manifest. The runtime keeps only what a
// call needs; roles, entries and versions are for tools.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_DESCRIPTION_H
#define TENON_TOOLS_TENON_RUN_DESCRIPTION_H

#include "tenon/Runtime/DataType.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tenon::run {

struct TensorInfo {
  std::string name, role; ///< "activation", "param", "prepared"; "" of outputs
  const TenonDataType *dtype;
  /// An extent, or the name of a dynamic one.
  std::vector<std::variant<int64_t, std::string>> shape;
};

struct FunctionInfo {
  std::string name;
  std::vector<TensorInfo> inputs, outputs;
};

/// A function as its author wrote it, and the functions that it became.
struct EntryInfo {
  std::string name;
  std::string prepare; ///< "" if nothing is prepared
  std::string run;
  std::vector<std::string> inputs;
  std::string precision; ///< loosest contract of its products; "" for none
  std::string reference; ///< "" where the model says none
};

struct ModelInfo {
  std::string name, version, cpu, ptx;
  std::vector<std::string> cuda, kernels;
  std::vector<FunctionInfo> functions;
  std::vector<EntryInfo> entries;

  bool hasGpuCode() const { return !cuda.empty() || !ptx.empty(); }
  /// Null where there is none.
  const FunctionInfo *find(const std::string &function) const;
  const FunctionInfo *findReference(const EntryInfo &entry) const;
  /// The entry `name`, or the default one for "". Fails where there is none.
  const EntryInfo &entry(const std::string &name) const;
};

ModelInfo parseManifest(const char *text);

/// Prints it for people.
void printModel(const ModelInfo &model);

/// "[m, 8192]".
std::string shapeText(const TensorInfo &tensor);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_DESCRIPTION_H
