//===- Manifest.h - What a model says of itself -----------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The manifest is read once, when a model is made. Names of dynamic dimensions
// become numbers here, so that a call compares integers and hashes nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_MANIFEST_H
#define TENON_LIB_RUNTIME_MANIFEST_H

#include "Api.h"

#include <string>
#include <vector>

namespace tenon::runtime {

/// Dynamic dimensions of one function that may have different names.
inline constexpr size_t kMaxSymbols = 16;

/// A dimension: a fixed extent, or the number of a name.
struct Dimension {
  int64_t extent = 0;
  int32_t symbol = -1; ///< index into FunctionInfo::symbols, -1 where fixed
};

struct TensorInfo {
  std::string name;
  std::string role; ///< "activation", "param", "prepared"; "" of outputs
  TenonDType dtype = kTenonF32;
  std::vector<Dimension> shape;
};

struct FunctionInfo {
  std::string name;
  std::vector<TensorInfo> inputs, outputs; ///< the caller's
  std::vector<std::string> symbols;
  /// For each tensor that the code takes before its outputs, the number of a
  /// packed tensor, or -1 for the caller's next. Empty: all are the caller's.
  std::vector<int32_t> packed;
  /// Tensors that the code takes, and 64-bit words for their descriptors.
  size_t numTensors = 0, descriptorWords = 0;
};

/// A tensor that the model brings itself, of fixed extents: a parameter, whose
/// values are in the image, or what a prepare function makes of parameters.
struct PackedTensor : TensorInfo {
  int64_t offset = -1; ///< in the image's parameters; -1 for a prepared one
  int64_t bytes = 0;
};

/// Makes prepared tensors, once on each device. Numbers are those of packed
/// tensors.
struct PrepareInfo {
  FunctionInfo function;
  std::vector<int32_t> inputs, outputs;
};

/// A function as its author wrote it, and the functions that it became.
struct EntryInfo {
  std::string name;
  FunctionInfo signature; ///< of one that was divided; else that of `run`
  std::string prepare;    ///< "" if nothing is prepared
  std::string run;
  std::vector<std::string> inputs;
  std::string precision; ///< loosest contract of its products; "" for none
  std::string reference; ///< "" where the model says none
  std::string bounds;    ///< of errors beside it; "" where none are known
};

struct Manifest {
  std::string name;
  std::string version; ///< of the Tenon that wrote it; "" where absent
  std::string cpu;     ///< "" where absent
  std::vector<std::string> cuda; ///< "sm_90a", ...
  std::string ptx;               ///< "" where absent
  std::vector<std::string> kernels;
  std::vector<FunctionInfo> functions;
  std::vector<EntryInfo> entries;
  std::vector<PackedTensor> packed;
  std::vector<PrepareInfo> prepares; ///< in the image after the functions
};

/// Reads `text`; the message of a failure says which function and field.
TenonStatus parseManifest(const char *text, Manifest &manifest);

/// "[m, 8192]".
std::string shapeText(const FunctionInfo &function, const TensorInfo &tensor);

/// What GPUs the model has code for: "sm_80, sm_90a and PTX for sm_80".
std::string cudaTargetsText(const Manifest &manifest);

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_MANIFEST_H
