//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a model's description off its functions.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Host/ModelDescription.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Dynamic extents
//===----------------------------------------------------------------------===//

namespace {
/// Names the dynamic first extents of a function's tensors: tensors that meet
/// in an op have equal ones.
class DynamicExtents {
public:
  explicit DynamicExtents(func::FuncOp function) {
    function.walk([&](Operation *op) {
      if (op->getDialect() && (isa<TenonDialect>(op->getDialect()) ||
                               op->hasTrait<OpTrait::Elementwise>()))
        unite(op);
    });
    for (BlockArgument argument : function.getArguments())
      if (isDynamic(argument))
        nameOf(argument);
  }

  static bool isDynamic(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.getRank() == 2 && type.isDynamicDim(0);
  }

  /// The name of a value's first extent; empty if no argument has it.
  std::string lookup(Value value) {
    auto leader = classes.findLeader(key(value));
    auto it =
        leader == classes.member_end() ? names.end() : names.find(*leader);
    return it == names.end() ? "" : it->second;
  }

private:
  static void *key(Value value) { return value.getAsOpaquePointer(); }

  /// All that an op touches has one M: its operands, results and regions.
  void unite(Operation *op) {
    void *first = nullptr;
    auto add = [&](Value value) {
      if (!isDynamic(value))
        return;
      first ? (void)classes.unionSets(first, key(value))
            : (void)classes.insert(key(value));
      first = first ? first : key(value);
    };
    llvm::for_each(op->getOperands(), add);
    llvm::for_each(op->getResults(), add);
    for (Region &region : op->getRegions())
      llvm::for_each(region.getArguments(), add);
  }

  void nameOf(Value value) {
    classes.insert(key(value));
    void *leader = *classes.findLeader(key(value));
    std::string name = names.empty() ? "m" : "m" + llvm::utostr(names.size());
    names.try_emplace(leader, name);
  }

  llvm::EquivalenceClasses<void *> classes;
  llvm::DenseMap<void *, std::string> names;
};
} // namespace

//===----------------------------------------------------------------------===//
// Tensors and functions
//===----------------------------------------------------------------------===//

static std::string dtypeName(Type type) {
  if (type.isF32())
    return "float32";
  if (type.isF16())
    return "float16";
  if (type.isBF16())
    return "bfloat16";
  return type.isF64() ? "float64" : "";
}

static FailureOr<TensorDescription> describeTensor(func::FuncOp function,
                                                   Value value, Twine what,
                                                   DynamicExtents &extents) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() > 2 || dtypeName(type.getElementType()).empty())
    return function.emitOpError()
           << what
           << " must be a tensor of rank 0 to 2 of f32, f16, bf16 or "
              "f64, but is "
           << value.getType();
  TensorDescription tensor;
  tensor.dtype = dtypeName(type.getElementType());
  for (int64_t i = 0; i != type.getRank(); ++i) {
    if (!type.isDynamicDim(i)) {
      tensor.shape.emplace_back(type.getDimSize(i));
      continue;
    }
    if (i != 0 || type.getRank() != 2)
      return function.emitOpError()
             << what << " is " << type
             << ", but only M, the first extent of a matrix, may be dynamic";
    std::string name = extents.lookup(value);
    if (name.empty())
      return function.emitOpError() << what << " is " << type
                                    << ", but no input has its dynamic extent";
    tensor.shape.emplace_back(name);
  }
  return tensor;
}

static std::string attributeOr(DictionaryAttr attributes, StringRef name,
                               const Twine &otherwise) {
  if (auto value =
          attributes ? attributes.getAs<StringAttr>(name) : StringAttr())
    return value.str();
  return otherwise.str();
}

static StringRef roleOf(DictionaryAttr attributes) {
  if (attributes && attributes.contains(TenonDialect::kParamAttr))
    return "param";
  if (attributes && attributes.contains(TenonDialect::kPreparedAttr))
    return "prepared";
  return "activation";
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

bool tenon::isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

bool tenon::isUsableName(StringRef name) {
  static const llvm::StringSet<> taken = {
      // The functions' own parameters, then C's and C++'s keywords.
      "workspace", "workspace_bytes",
      "stream",    "bytes",
      "alignas",   "alignof",
      "and",       "asm",
      "auto",      "bool",
      "break",     "case",
      "catch",     "char",
      "class",     "const",
      "constexpr", "continue",
      "default",   "delete",
      "do",        "double",
      "else",      "enum",
      "explicit",  "export",
      "extern",    "false",
      "float",     "for",
      "friend",    "goto",
      "if",        "inline",
      "int",       "long",
      "mutable",   "namespace",
      "new",       "not",
      "nullptr",   "operator",
      "or",        "private",
      "protected", "public",
      "register",  "restrict",
      "return",    "short",
      "signed",    "sizeof",
      "static",    "struct",
      "switch",    "template",
      "this",      "throw",
      "true",      "try",
      "typedef",   "typename",
      "union",     "unsigned",
      "using",     "virtual",
      "void",      "volatile",
      "while",     "xor"};
  return isIdentifier(name) && !taken.contains(name);
}

/// Names become C's and files': usable, and each tensor's its own.
static LogicalResult checkNames(func::FuncOp function,
                                const FunctionDescription &description) {
  StringRef name = description.name;
  if (!isIdentifier(name) || name == "image" ||
      name.ends_with("_workspace_size"))
    return function.emitOpError()
           << "cannot be named '" << name << "': it becomes a C function MODEL_"
           << name << "; take another identifier";
  llvm::StringSet<> seen;
  for (const auto *tensors : {&description.inputs, &description.outputs})
    for (const TensorDescription &tensor : *tensors) {
      if (!isUsableName(tensor.name))
        return function.emitOpError()
               << "has a tensor named '" << tensor.name
               << "', which C cannot use; set 'tenon.name' to an identifier";
      if (!seen.insert(tensor.name).second)
        return function.emitOpError()
               << "has two tensors named '" << tensor.name
               << "'; set 'tenon.name' of one of them";
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Functions and entries
//===----------------------------------------------------------------------===//

/// Refuses what no target compiles, before a later pass trips over it.
static LogicalResult checkOps(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError(
        "has control flow; a model's function is one block of tenon ops");
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (isa<func::CallOp>(op))
      return op.emitOpError("calls a function, which a model cannot; inline it "
                            "(tenon-opt --inline)");
    Dialect *dialect = op.getDialect();
    if (!isa_and_nonnull<TenonDialect, arith::ArithDialect, math::MathDialect,
                         tensor::TensorDialect>(dialect))
      return op.emitOpError("cannot be compiled: a model is made of tenon ops, "
                            "and of arith, math and tensor ops on parameters");
  }
  return success();
}

static FailureOr<FunctionDescription> describeFunction(func::FuncOp function) {
  if (failed(checkOps(function)))
    return failure();
  DynamicExtents extents(function);
  FunctionDescription result;
  result.name = function.getName().str();
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto tensor = describeTensor(function, argument,
                                 "argument #" + Twine(index), extents);
    if (failed(tensor))
      return failure();
    DictionaryAttr attributes = function.getArgAttrDict(index);
    tensor->role = roleOf(attributes).str();
    tensor->name = attributeOr(attributes, TenonDialect::kNameAttr,
                               (tensor->role == "prepared" ? "prepared" : "x") +
                                   Twine(index));
    result.inputs.push_back(std::move(*tensor));
  }
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    auto tensor =
        describeTensor(function, value, "result #" + Twine(index), extents);
    if (failed(tensor))
      return failure();
    std::string name = "y" + std::to_string(index);
    while (llvm::any_of(result.inputs, [&](const TensorDescription &input) {
      return input.name == name;
    }))
      name += "_out";
    tensor->name = attributeOr(function.getResultAttrDict(index),
                               TenonDialect::kNameAttr, name);
    result.outputs.push_back(std::move(*tensor));
  }
  if (failed(checkNames(function, result)))
    return failure();
  return result;
}

FailureOr<std::vector<FunctionDescription>>
tenon::describeFunctions(ModuleOp module) {
  std::vector<FunctionDescription> functions;
  for (Operation &op : module.getBody()->getOperations()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function || function.isDeclaration())
      return op.emitOpError("cannot be compiled: a model holds function "
                            "definitions only");
    if (function.isPrivate())
      continue;
    auto description = describeFunction(function);
    if (failed(description))
      return failure();
    functions.push_back(std::move(*description));
  }
  if (functions.empty())
    return module.emitError("the model has no public function to compile");
  return functions;
}

/// The contract of a product: of f32 it is fp32 unless it says otherwise, and
/// other types have none but their own.
template <typename Linear>
static std::optional<Precision> getContract(Linear linear) {
  if (std::optional<Precision> precision = linear.getPrecision())
    return precision;
  if (linear.getX().getType().getElementType().isF32())
    return Precision::FP32;
  return std::nullopt;
}

/// What `op` may do to the precision of its result, if that is more than to
/// round to the type of a tensor that the model is given.
static std::optional<Precision> getPrecision(Operation *op) {
  if (auto linear = dyn_cast<LinearOp>(op))
    return getContract(linear);
  if (auto linear = dyn_cast<FusedLinearOp>(op))
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

std::vector<EntryDescription> tenon::describeEntries(ModuleOp source,
                                                     ModuleOp prepared) {
  std::vector<EntryDescription> entries;
  for (auto function : source.getOps<func::FuncOp>()) {
    if (function.isPrivate())
      continue;
    EntryDescription entry;
    entry.precision = loosestPrecision(function);
    entry.name = entry.run = function.getName().str();
    for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i)
      entry.inputs.push_back(attributeOr(
          function.getArgAttrDict(i), TenonDialect::kNameAttr, "x" + Twine(i)));
    auto run = prepared.lookupSymbol<func::FuncOp>(entry.name + "_run");
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
