//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a model's text and names its arguments.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Host/ModelDescription.h"
#include "tenon/Dialect/Tenon/IR/Tenon.h"
#include "tenon/Pipelines/Compiler.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::tenon;

/// The SSA name that stands in the text at `loc`, "" if C could not use it.
static StringRef nameAt(Location loc, llvm::SourceMgr &sources) {
  auto place = dyn_cast<FileLineColLoc>(loc);
  if (!place)
    return "";
  const llvm::MemoryBuffer *buffer =
      sources.getMemoryBuffer(sources.getMainFileID());
  if (place.getFilename() != buffer->getBufferIdentifier())
    return "";
  const char *start =
      sources
          .FindLocForLineAndColumn(sources.getMainFileID(), place.getLine(),
                                   place.getColumn())
          .getPointer();
  if (!start)
    return "";
  StringRef text(start, buffer->getBufferEnd() - start);
  if (!text.consume_front("%"))
    return "";
  StringRef name = text.take_while(
      [](char c) { return llvm::isAlnum(c) || StringRef("_$.-").contains(c); });
  return isUsableName(name) ? name : "";
}

OwningOpRef<ModuleOp> tenon::loadModel(llvm::SourceMgr &sources,
                                       MLIRContext *context) {
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, context);
  if (!module)
    return nullptr;
  for (auto function : module->getOps<func::FuncOp>()) {
    if (function.isDeclaration())
      continue;
    for (BlockArgument argument : function.getArguments()) {
      unsigned index = argument.getArgNumber();
      StringRef name = nameAt(argument.getLoc(), sources);
      if (name.empty())
        continue;
      auto attribute = StringAttr::get(context, name);
      // Printed IR calls the argument by it too.
      argument.setLoc(NameLoc::get(attribute, argument.getLoc()));
      if (!function.getArgAttr(index, TenonDialect::kNameAttr))
        function.setArgAttr(index, TenonDialect::kNameAttr, attribute);
    }
  }
  return module;
}
