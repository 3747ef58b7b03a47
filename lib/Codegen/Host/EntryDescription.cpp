//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads off the IR what each function of the user became, and its precision.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Host/ModelDescription.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::tenon;

/// The contract of a product: of f32 it is fp32 unless it says otherwise, and
/// other types have none but their own.
static std::optional<Precision> getContract(LinearLikeOp linear) {
  if (std::optional<Precision> precision = linear.getPrecision())
    return precision;
  if (linear.getX().getType().getElementType().isF32())
    return Precision::FP32;
  return std::nullopt;
}

/// What `op` may do to the precision of its result, if that is more than to
/// round to the type of a tensor that the model is given.
static std::optional<Precision> getPrecision(Operation *op) {
  if (auto linear = dyn_cast<LinearLikeOp>(op))
    return getContract(linear);
  auto cast = dyn_cast<CastOp>(op);
  Type type = cast ? cast.getType().getElementType() : Type();
  if (!cast || type.isF32())
    return std::nullopt;
  return type.isF16() ? Precision::FP16 : Precision::BF16;
}

/// The loosest precision of the products and casts of `function`, "" if none
/// has one; who compares results with a reference needs it.
static std::string loosestPrecision(func::FuncOp function) {
  constexpr Precision byAccuracy[] = {Precision::FP32, Precision::TF32,
                                      Precision::FP16, Precision::BF16};
  ptrdiff_t loosest = -1;
  function.walk([&](Operation *op) {
    if (std::optional<Precision> precision = getPrecision(op))
      loosest = std::max(loosest, llvm::find(byAccuracy, *precision) -
                                      std::begin(byAccuracy));
  });
  return loosest < 0 ? "" : stringifyPrecision(byAccuracy[loosest]).str();
}

std::vector<EntryDescription>
tenon::describeEntries(ModuleOp source,
                       ArrayRef<FunctionDescription> signatures,
                       ModuleOp prepared) {
  std::vector<EntryDescription> entries;
  for (const FunctionDescription &signature : signatures) {
    EntryDescription entry;
    entry.signature = signature;
    entry.precision =
        loosestPrecision(source.lookupSymbol<func::FuncOp>(signature.name));
    entry.run = signature.name;
    auto run = prepared.lookupSymbol<func::FuncOp>(signature.name + "_run");
    if (auto prepare = run ? run->getAttrOfType<FlatSymbolRefAttr>(
                                 TenonDialect::kPrepareAttr)
                           : FlatSymbolRefAttr()) {
      entry.prepare = prepare.getValue().str();
      entry.run = run.getName().str();
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<CFunction> tenon::listCFunctions(const ModelDescription &model) {
  std::vector<CFunction> functions;
  auto numberOf = [&](StringRef name) {
    return llvm::find_if(model.functions,
                         [&](const auto &f) { return f.name == name; }) -
           model.functions.begin();
  };
  llvm::StringSet<> parts;
  unsigned numDivided = 0;
  for (const EntryDescription &entry : model.entries) {
    parts.insert(entry.prepare);
    parts.insert(entry.run);
    unsigned number = entry.prepare.empty()
                          ? numberOf(entry.run)
                          : model.functions.size() + numDivided++;
    functions.push_back({&entry.signature, number,
                         llvm::any_of(entry.signature.inputs,
                                      [](const TensorDescription &tensor) {
                                        return tensor.role == "param";
                                      })});
  }
  for (const FunctionDescription &function : model.functions)
    if (!parts.contains(function.name))
      functions.push_back({&function, unsigned(numberOf(function.name)),
                           /*hasPrepare=*/false});
  return functions;
}
