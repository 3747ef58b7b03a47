//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model's description as text: the JSON manifest and the C header.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Host/ModelDescription.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Manifest
//===----------------------------------------------------------------------===//

static llvm::json::Array toJson(ArrayRef<std::string> strings) {
  return llvm::json::Array(strings);
}

static llvm::json::Object toJson(const TensorDescription &tensor) {
  llvm::json::Array shape;
  for (const auto &extent : tensor.shape)
    std::visit([&](const auto &value) { shape.push_back(value); }, extent);
  llvm::json::Object object{{"name", tensor.name},
                            {"dtype", tensor.dtype},
                            {"shape", std::move(shape)}};
  if (!tensor.role.empty())
    object["role"] = tensor.role;
  return object;
}

static llvm::json::Array toJson(ArrayRef<TensorDescription> tensors) {
  llvm::json::Array array;
  for (const TensorDescription &tensor : tensors)
    array.push_back(toJson(tensor));
  return array;
}

static llvm::json::Object toJson(const PackedTensorDescription &tensor) {
  llvm::json::Object object =
      toJson(static_cast<const TensorDescription &>(tensor));
  if (tensor.offset >= 0)
    object["offset"] = tensor.offset;
  return object;
}

static llvm::json::Object packedToJson(const ModelDescription &model) {
  llvm::json::Array tensors, prepares;
  for (const PackedTensorDescription &tensor : model.packed)
    tensors.push_back(toJson(tensor));
  for (const PrepareDescription &prepare : model.prepares)
    prepares.push_back(
        llvm::json::Object{{"name", prepare.name},
                           {"inputs", llvm::json::Array(prepare.inputs)},
                           {"outputs", llvm::json::Array(prepare.outputs)}});
  return llvm::json::Object{{"tensors", std::move(tensors)},
                            {"prepare", std::move(prepares)}};
}

static llvm::json::Object toJson(const FunctionDescription &function) {
  llvm::json::Object object{{"name", function.name},
                            {"inputs", toJson(function.inputs)},
                            {"outputs", toJson(function.outputs)}};
  if (!function.packed.empty())
    object["packed"] = llvm::json::Array(function.packed);
  return object;
}

std::string tenon::toManifest(const ModelDescription &model) {
  llvm::json::Array functions, entries;
  for (const FunctionDescription &function : model.functions)
    functions.push_back(toJson(function));
  for (const EntryDescription &entry : model.entries) {
    llvm::json::Array inputs;
    for (const TensorDescription &input : entry.signature.inputs)
      inputs.push_back(input.name);
    llvm::json::Object object{{"name", entry.signature.name},
                              {"inputs", std::move(inputs)},
                              {"run", entry.run}};
    if (!entry.prepare.empty()) {
      object["prepare"] = entry.prepare;
      object["signature"] = toJson(entry.signature);
    }
    if (!entry.reference.empty())
      object["reference"] = entry.reference;
    if (!entry.bounds.empty())
      object["bounds"] = entry.bounds;
    if (!entry.precision.empty())
      object["precision"] = entry.precision;
    entries.push_back(std::move(object));
  }
  llvm::json::Object manifest{{"tenon", TENON_VERSION},
                              {"name", model.name},
                              {"functions", std::move(functions)},
                              {"entries", std::move(entries)}};
  if (!model.cpu.empty())
    manifest["cpu"] = model.cpu;
  if (!model.cuda.empty()) {
    manifest["cuda"] = toJson(model.cuda);
    manifest["kernels"] = toJson(model.kernels);
  }
  if (!model.ptx.empty())
    manifest["ptx"] = model.ptx;
  if (!model.packed.empty())
    manifest["packed"] = packedToJson(model);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(manifest));
  return text;
}

//===----------------------------------------------------------------------===//
// C header
//===----------------------------------------------------------------------===//

static std::string shapeText(const TensorDescription &tensor) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << tensor.dtype << " [";
  llvm::interleaveComma(tensor.shape, os, [&](const auto &extent) {
    std::visit([&](const auto &value) { os << value; }, extent);
  });
  os << "]";
  return text;
}

static void printParameters(ArrayRef<TensorDescription> tensors,
                            StringRef qualifier, llvm::raw_ostream &os) {
  for (const TensorDescription &tensor : tensors)
    os << qualifier << "DLTensor *" << tensor.name << ", ";
}

/// Declares a C function; `rest` is what it takes behind its tensors.
static void printDeclaration(const Twine &name,
                             ArrayRef<TensorDescription> inputs,
                             ArrayRef<TensorDescription> outputs,
                             StringRef rest, llvm::raw_ostream &os) {
  os << "TenonStatus " << name << "(\n    ";
  printParameters(inputs, "const ", os);
  printParameters(outputs, "", os);
  os << "\n    " << rest << ");\n";
}

static void printTensors(ArrayRef<TensorDescription> tensors, StringRef way,
                         llvm::raw_ostream &os) {
  for (const TensorDescription &tensor : tensors)
    os << " *  " << way << " " << tensor.name << ": " << shapeText(tensor)
       << (tensor.role == "param" ? ", param" : "") << "\n";
}

/// The two halves of a function with parameters.
static void printPrepare(const Twine &name, const FunctionDescription &function,
                         llvm::raw_ostream &os) {
  std::vector<TensorDescription> parameters;
  llvm::copy_if(function.inputs, std::back_inserter(parameters),
                [](const TensorDescription &t) { return t.role == "param"; });
  StringRef memory = "void *workspace, size_t workspace_bytes, void *stream";
  os << "/** Computes what depends on parameters alone, once a version of "
        "them, into\n *  `prepared`: memory on their device, aligned to 256 "
        "bytes. It may be 0 bytes. */\n";
  printDeclaration(name + "_prepare", parameters, {},
                   ("void *prepared, size_t prepared_bytes, " + memory).str(),
                   os);
  os << "/** Bytes of `prepared` and of its workspace. */\n";
  printDeclaration(name + "_prepare_workspace_size", parameters, {},
                   "size_t *prepared_bytes, size_t *bytes", os);
  os << "/** The function, given what was prepared of the same parameters. "
        "*/\n";
  printDeclaration(
      name + "_run", function.inputs, function.outputs,
      ("const void *prepared, size_t prepared_bytes, " + memory).str(), os);
  os << "/** Bytes of its workspace. */\n";
  printDeclaration(name + "_run_workspace_size", function.inputs, {},
                   "size_t *bytes", os);
}

static void printFunction(const Twine &name, const CFunction &function,
                          llvm::raw_ostream &os) {
  const FunctionDescription &signature = *function.signature;
  os << "/** " << signature.name << "\n";
  printTensors(signature.inputs, "in ", os);
  printTensors(signature.outputs, "out", os);
  os << " *  `workspace`: memory on the tensors' device, aligned to 256 bytes, "
        "of\n"
     << " *  the size that the function below gives. `stream`: a CUstream; not "
        "used\n"
     << " *  on the CPU. */\n";
  printDeclaration(name, signature.inputs, signature.outputs,
                   "void *workspace, size_t workspace_bytes, void *stream", os);
  os << "/** Bytes of workspace for these shapes; `data` may be null. */\n";
  printDeclaration(name + "_workspace_size", signature.inputs, {},
                   "size_t *bytes", os);
  if (function.hasPrepare)
    printPrepare(name, signature, os);
  os << "\n";
}

std::string tenon::toHeader(const ModelDescription &model) {
  std::string guard = StringRef(model.name).upper() + "_H";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "/* Made by tenon-compile " TENON_VERSION ": the functions of model '"
     << model.name << "'.\n"
     << " * Link the model and libtenon_runtime. Tensors are contiguous and\n"
     << " * row-major; failures are explained by tenonLastError(). */\n\n"
     << "#ifndef " << guard << "\n#define " << guard << "\n\n"
     << "#include <tenon-c/Model.h>\n\n"
     << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
     << "/** For tenonModelFromImage. */\n"
     << "extern const TenonModelImage " << model.name << "_image;\n\n";
  for (const CFunction &function : listCFunctions(model))
    printFunction(model.name + "_" + function.signature->name, function, os);
  os << "#ifdef __cplusplus\n}\n#endif\n\n#endif /* " << guard << " */\n";
  return text;
}
