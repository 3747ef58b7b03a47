//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names of a model's tensors, and which of them C can use.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Host/ModelDescription.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::tenon;

bool tenon::isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

std::string tenon::makeIdentifier(StringRef name) {
  std::string result = name.str();
  for (char &c : result)
    if (!llvm::isAlnum(c))
      c = '_';
  return !name.empty() && llvm::isDigit(name[0]) ? "_" + result : result;
}

bool tenon::isUsableName(StringRef name) {
  static const llvm::StringSet<> taken = {
      // The functions' own parameters, what the header takes from others, and
      // macros of compilers; then C's and C++'s keywords.
      "workspace",     "workspace_bytes",
      "prepared",      "prepared_bytes",
      "stream",        "bytes",
      "NULL",          "linux",
      "unix",          "size_t",
      "DLTensor",      "_Alignas",
      "alignas",       "_Alignof",
      "alignof",       "and",
      "and_eq",        "asm",
      "_Atomic",       "auto",
      "bitand",        "bitor",
      "_Bool",         "bool",
      "break",         "case",
      "catch",         "char",
      "char16_t",      "char32_t",
      "char8_t",       "class",
      "co_await",      "co_return",
      "co_yield",      "compl",
      "_Complex",      "concept",
      "const",         "const_cast",
      "consteval",     "constexpr",
      "constinit",     "continue",
      "decltype",      "default",
      "delete",        "do",
      "double",        "dynamic_cast",
      "else",          "enum",
      "explicit",      "export",
      "extern",        "false",
      "float",         "for",
      "friend",        "_Generic",
      "goto",          "if",
      "_Imaginary",    "inline",
      "int",           "long",
      "mutable",       "namespace",
      "new",           "noexcept",
      "_Noreturn",     "not",
      "not_eq",        "nullptr",
      "operator",      "or",
      "or_eq",         "private",
      "protected",     "public",
      "register",      "reinterpret_cast",
      "requires",      "restrict",
      "return",        "short",
      "signed",        "sizeof",
      "static",        "_Static_assert",
      "static_assert", "static_cast",
      "struct",        "switch",
      "template",      "this",
      "_Thread_local", "thread_local",
      "throw",         "true",
      "try",           "typedef",
      "typeid",        "typename",
      "typeof",        "typeof_unqual",
      "union",         "unsigned",
      "using",         "virtual",
      "void",          "volatile",
      "wchar_t",       "while",
      "xor",           "xor_eq"};
  return isIdentifier(name) && !taken.contains(name);
}

static StringRef getGivenName(DictionaryAttr attributes) {
  auto name = attributes ? attributes.getAs<StringAttr>(TenonDialect::kNameAttr)
                         : StringAttr();
  return name ? name.getValue() : StringRef();
}

std::string tenon::getTensorName(DictionaryAttr attributes,
                                 const Twine &otherwise) {
  StringRef name = getGivenName(attributes);
  return name.empty() ? otherwise.str() : name.str();
}

llvm::StringSet<> tenon::getGivenNames(func::FuncOp function) {
  llvm::StringSet<> names;
  for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i)
    names.insert(getGivenName(function.getArgAttrDict(i)));
  for (unsigned i = 0, e = function.getNumResults(); i != e; ++i)
    names.insert(getGivenName(function.getResultAttrDict(i)));
  names.erase("");
  return names;
}

void tenon::nameInputs(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    llvm::StringSet<> taken = getGivenNames(function);
    for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i) {
      DictionaryAttr attributes = function.getArgAttrDict(i);
      if (!getGivenName(attributes).empty() ||
          (attributes && attributes.contains(TenonDialect::kPreparedAttr)))
        continue;
      std::string name = "x" + std::to_string(i);
      while (!taken.insert(name).second)
        name += "_";
      function.setArgAttr(i, TenonDialect::kNameAttr,
                          StringAttr::get(module.getContext(), name));
    }
  }
}
