//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a compiled model says of itself: its functions and their tensors, the
// machines it has code for. Written into the model as its manifest, and for
// people as its C header.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_HOST_MODELDESCRIPTION_H
#define TENON_CODEGEN_HOST_MODELDESCRIPTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <variant>
#include <vector>

namespace mlir::tenon {

struct TensorDescription {
  std::string name;
  std::string dtype; ///< its name in DataTypes.def
  /// An extent, or the name that all equal dynamic extents share.
  std::vector<std::variant<int64_t, std::string>> shape;
  std::string role; ///< "activation", "param", "prepared"; "" for an output
};

struct FunctionDescription {
  std::string name;
  std::vector<TensorDescription> inputs, outputs;
  /// With packed parameters: for each tensor that the code takes before its
  /// outputs, the number of a packed tensor, or -1 for the next of `inputs`.
  std::vector<int64_t> packed;
};

/// A tensor that the model brings itself.
struct PackedTensorDescription : TensorDescription {
  int64_t offset = -1; ///< among the packed values; -1 for a prepared tensor
};

/// A prepare function, which the runtime calls; numbers of packed tensors.
struct PrepareDescription {
  std::string name;
  std::vector<int64_t> inputs, outputs;
};

/// A function as the user wrote it, and what it was compiled to.
struct EntryDescription {
  FunctionDescription signature;
  std::string prepare; ///< "" if nothing is prepared
  std::string run;
  std::string reference; ///< "" if the model has none
  std::string bounds;    ///< of errors beside it; "" if not known
  std::string precision; ///< loosest of its products and casts; "" for none
};

struct ModelDescription {
  std::string name; ///< a C identifier
  std::string cpu;  ///< x86-64 level
  std::vector<std::string> cuda;
  std::string ptx; ///< architecture of the PTX, "" if none
  std::vector<std::string> kernels;
  std::vector<FunctionDescription> functions;
  std::vector<EntryDescription> entries;
  std::vector<PackedTensorDescription> packed;
  std::vector<PrepareDescription> prepares;
};

/// What a model has a C function for: an entry, or what stands beside one.
struct CFunction {
  const FunctionDescription *signature;
  /// By which the runtime knows it: first come the model's functions, then the
  /// entries that were divided.
  unsigned number;
  /// Whether it has a prepare and a run function in C. Entries with parameters
  /// have, be there anything to prepare or not.
  bool hasPrepare;
};

/// The C functions of `model`, which follow from its text alone.
std::vector<CFunction> listCFunctions(const ModelDescription &model);

/// Whether `name` is an identifier of C.
bool isIdentifier(StringRef name);

/// `name` as C can write it: `layers.0.weight` becomes
/// `layers_0_weight`, `0.weight` becomes `_0_weight`.
std::string makeIdentifier(StringRef name);

/// Whether a tensor of a C function can have this name: an identifier that is
/// neither a keyword nor one of the functions' own parameters.
bool isUsableName(StringRef name);

/// The name that `attributes`, a tensor's, give it (`tenon.name`), or
/// `otherwise`.
std::string getTensorName(DictionaryAttr attributes, const Twine &otherwise);

/// The names that `tenon.name` gives to arguments and results of `function`.
llvm::StringSet<> getGivenNames(func::FuncOp function);

/// Gives a name to each argument without one: "x" and its number, or where that
/// is another tensor's with a '_' more.
void nameInputs(ModuleOp module);

/// Describes the public functions of `module`, whose ops are still on tensors.
/// Fails with a diagnostic where a function cannot be compiled: control flow,
/// types other than tensors of rank 0 to 2, a dynamic extent other than the
/// first, an output extent that no input gives.
FailureOr<std::vector<FunctionDescription>> describeFunctions(ModuleOp module);

/// Pairs each function of `source`, as the user wrote it and `signatures`
/// describes it, with the functions it became in `prepared`, after
/// `--tenon-hoist-prepare`.
std::vector<EntryDescription>
describeEntries(ModuleOp source, ArrayRef<FunctionDescription> signatures,
                ModuleOp prepared);

/// The manifest: JSON on one line.
std::string toManifest(const ModelDescription &model);

/// The C header of the model's functions.
std::string toHeader(const ModelDescription &model);

} // namespace mlir::tenon

#endif // TENON_CODEGEN_HOST_MODELDESCRIPTION_H
