//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds a model's image and C functions to its LLVM module. The layouts are
// those of Runtime/Runtime.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Host/ModelImage.h"

#include "tenon/Runtime/Runtime.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <numeric>

using namespace mlir;
using namespace mlir::tenon;

namespace {
class ImageBuilder {
public:
  ImageBuilder(llvm::Module &module, const ModelDescription &model)
      : module(module), model(model), context(module.getContext()),
        pointer(llvm::PointerType::get(context, 0)),
        i32(llvm::Type::getInt32Ty(context)),
        i64(llvm::Type::getInt64Ty(context)) {}

  void build(StringRef fatbin, StringRef parameters);

private:
  llvm::GlobalVariable *addConstant(llvm::Constant *value, const Twine &name);
  llvm::Constant *addBytes(StringRef bytes, const Twine &name,
                           llvm::Align alignment);
  llvm::Constant *functionTable();
  void addWrappers(const CFunction &function);
  void addWrapper(const Twine &name, StringRef callee, unsigned number,
                  ArrayRef<unsigned> counts, ArrayRef<llvm::Type *> rest);
  llvm::Value *arrayOf(llvm::IRBuilder<> &builder, llvm::Function *function,
                       unsigned first, unsigned count);

  llvm::Module &module;
  const ModelDescription &model;
  llvm::LLVMContext &context;
  llvm::PointerType *pointer;
  llvm::IntegerType *i32, *i64;
  llvm::GlobalVariable *image = nullptr;
};
} // namespace

llvm::GlobalVariable *ImageBuilder::addConstant(llvm::Constant *value,
                                                const Twine &name) {
  return new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                  llvm::GlobalValue::InternalLinkage, value,
                                  name);
}

/// Null where there are none. They may be gigabytes: a section for large data
/// keeps them out of the way of code that refers to what is near.
llvm::Constant *ImageBuilder::addBytes(StringRef bytes, const Twine &name,
                                       llvm::Align alignment) {
  if (bytes.empty())
    return llvm::ConstantPointerNull::get(pointer);
  auto *global = addConstant(
      llvm::ConstantDataArray::getString(context, bytes, /*AddNull=*/false),
      name);
  global->setAlignment(alignment);
  global->setCodeModel(llvm::CodeModel::Large);
  return global;
}

llvm::Constant *ImageBuilder::functionTable() {
  auto *type = llvm::StructType::get(pointer, pointer, pointer, pointer);
  auto lookup = [&](const std::string &name) -> llvm::Constant * {
    if (llvm::Function *function = module.getFunction(name))
      return function;
    return llvm::ConstantPointerNull::get(pointer);
  };
  SmallVector<llvm::Constant *> rows;
  auto addRow = [&](const std::string &name) {
    rows.push_back(llvm::ConstantStruct::get(
        type, lookup(name + "__cpu"), lookup(name + "__cpu_workspace"),
        lookup(name + "__cuda"), lookup(name + "__cuda_workspace")));
  };
  for (const FunctionDescription &function : model.functions)
    addRow(function.name);
  for (const PrepareDescription &prepare : model.prepares)
    addRow(prepare.name);
  return addConstant(
      llvm::ConstantArray::get(llvm::ArrayType::get(type, rows.size()), rows),
      "functions");
}

/// An array on the stack of `count` of the function's arguments.
llvm::Value *ImageBuilder::arrayOf(llvm::IRBuilder<> &builder,
                                   llvm::Function *function, unsigned first,
                                   unsigned count) {
  llvm::Value *array = builder.CreateAlloca(pointer, builder.getInt32(count));
  for (unsigned i = 0; i != count; ++i)
    builder.CreateStore(function->getArg(first + i),
                        builder.CreateConstInBoundsGEP1_32(pointer, array, i));
  return array;
}

/// NAME(tensors..., rest...) → callee(image, number, the tensors as arrays and
/// their counts, rest...).
void ImageBuilder::addWrapper(const Twine &name, StringRef callee,
                              unsigned number, ArrayRef<unsigned> counts,
                              ArrayRef<llvm::Type *> rest) {
  unsigned numTensors = std::accumulate(counts.begin(), counts.end(), 0u);
  SmallVector<llvm::Type *> types(numTensors, pointer), given{pointer, i32};
  llvm::append_range(types, rest);
  auto *wrapper = llvm::Function::Create(
      llvm::FunctionType::get(i32, types, /*isVarArg=*/false),
      llvm::GlobalValue::ExternalLinkage, name, module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", wrapper));
  SmallVector<llvm::Value *> values{image, builder.getInt32(number)};
  unsigned first = 0;
  for (unsigned count : counts) {
    values.append(
        {arrayOf(builder, wrapper, first, count), builder.getInt32(count)});
    given.append({pointer, i32});
    first += count;
  }
  for (unsigned i = 0; i != rest.size(); ++i)
    values.push_back(wrapper->getArg(numTensors + i));
  llvm::append_range(given, rest);
  builder.CreateRet(builder.CreateCall(
      module.getOrInsertFunction(
          callee, llvm::FunctionType::get(i32, given, /*isVarArg=*/false)),
      values));
}

/// What the model's header declares.
void ImageBuilder::addWrappers(const CFunction &function) {
  const FunctionDescription &signature = *function.signature;
  std::string name = model.name + "_" + signature.name;
  unsigned numInputs = signature.inputs.size();
  unsigned numOutputs = signature.outputs.size();
  auto add = [&](const Twine &suffix, StringRef callee,
                 ArrayRef<unsigned> counts, ArrayRef<llvm::Type *> rest) {
    addWrapper(name + suffix, callee, function.number, counts, rest);
  };
  add("", "tenonImageRun", {numInputs, numOutputs}, {pointer, i64, pointer});
  add("_workspace_size", "tenonImageWorkspaceSize", {numInputs}, {pointer});
  if (!function.hasPrepare)
    return;
  unsigned numParameters =
      llvm::count_if(signature.inputs, [](const TensorDescription &tensor) {
        return tensor.role == "param";
      });
  add("_prepare", "tenonImagePrepare", {numParameters},
      {pointer, i64, pointer, i64, pointer});
  add("_prepare_workspace_size", "tenonImagePrepareWorkspaceSize",
      {numParameters}, {pointer, pointer});
  add("_run", "tenonImageRunPrepared", {numInputs, numOutputs},
      {pointer, i64, pointer, i64, pointer});
  add("_run_workspace_size", "tenonImageRunPreparedWorkspaceSize", {numInputs},
      {pointer});
}

void ImageBuilder::build(StringRef fatbin, StringRef parameters) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);

  // cuModuleLoadData reads words; tensors are aligned as workspaces are.
  llvm::Constant *code = addBytes(fatbin, "fatbin", llvm::Align(64));
  llvm::Constant *values = addBytes(parameters, "parameters", llvm::Align(256));
  llvm::Constant *manifest = addConstant(
      llvm::ConstantDataArray::getString(context, toManifest(model)),
      "manifest");
  auto *type = llvm::StructType::get(i32, i32, pointer, pointer, pointer, i64,
                                     pointer, i64);
  llvm::Constant *value = llvm::ConstantStruct::get(
      type, llvm::ConstantInt::get(i32, kTenonImageVersion),
      llvm::ConstantInt::get(i32,
                             model.functions.size() + model.prepares.size()),
      manifest, functionTable(), code,
      llvm::ConstantInt::get(i64, fatbin.size()), values,
      llvm::ConstantInt::get(i64, parameters.size()));
  image = addConstant(value, "image");
  // The common name finds the image in a shared object; the model's own name
  // lets several models be linked into one program.
  llvm::GlobalAlias::create(type, 0, llvm::GlobalValue::WeakAnyLinkage,
                            "tenon_model_image", image, &module);
  llvm::GlobalAlias::create(type, 0, llvm::GlobalValue::ExternalLinkage,
                            model.name + "_image", image, &module);
  for (const CFunction &function : listCFunctions(model))
    addWrappers(function);
}

void tenon::addModelImage(llvm::Module &module, const ModelDescription &model,
                          StringRef fatbin, StringRef parameters) {
  ImageBuilder(module, model).build(fatbin, parameters);
}
