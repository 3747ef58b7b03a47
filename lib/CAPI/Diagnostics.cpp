//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hands MLIR's diagnostics and remarks to a handler in C.
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"

#include "tenon/Remarks/Reason.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::tenon;
using remark::detail::Remark;

/// Sets the place that `loc` stands for; unknown if it has none in a file.
static void setPlace(TenonDiagnostic &diagnostic, Location loc) {
  auto place = loc->findInstanceOf<FileLineColLoc>();
  if (!place)
    return;
  // An attribute's string ends in a null character.
  diagnostic.file = place.getFilename().data();
  diagnostic.line = place.getLine();
  diagnostic.column = place.getColumn();
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

static TenonSeverity convert(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return TENON_NOTE;
  case DiagnosticSeverity::Remark:
    return TENON_REMARK;
  case DiagnosticSeverity::Warning:
    return TENON_WARNING;
  case DiagnosticSeverity::Error:
    return TENON_ERROR;
  }
  llvm_unreachable("a severity that MLIR does not have");
}

static void giveWithNotes(const DiagnosticSink &sink, Diagnostic &diagnostic) {
  std::string message = diagnostic.str();
  TenonDiagnostic result = {};
  result.severity = convert(diagnostic.getSeverity());
  result.message = message.c_str();
  setPlace(result, diagnostic.getLocation());
  sink.give(result);
  for (Diagnostic &note : diagnostic.getNotes())
    giveWithNotes(sink, note);
}

void DiagnosticSink::error(StringRef message) const {
  std::string text = message.str();
  TenonDiagnostic result = {};
  result.severity = TENON_ERROR;
  result.message = text.c_str();
  give(result);
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

namespace {
class RemarkStreamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit RemarkStreamer(const DiagnosticSink &sink) : sink(sink) {}
  void streamOptimizationRemark(const Remark &remark) override;

private:
  const DiagnosticSink &sink;
};
} // namespace

static const char *kindOf(const Remark &remark) {
  switch (remark.getRemarkType()) {
  case llvm::remarks::Type::Passed:
    return "passed";
  case llvm::remarks::Type::Missed:
    return "missed";
  case llvm::remarks::Type::Failure:
    return "failure";
  default:
    return "analysis";
  }
}

/// The facts: numbers as numbers, a ValuedRemark's values as they are, all else
/// as text.
static std::string toJSON(ArrayRef<Remark::Arg> arguments) {
  llvm::json::Object object;
  for (const Remark::Arg &argument : arguments) {
    if (argument.key == kValues) {
      object[argument.key] = cantFail(llvm::json::parse(argument.val));
      continue;
    }
    int64_t number;
    bool isText = StringRef(argument.val).getAsInteger(10, number);
    std::string text = llvm::json::fixUTF8(argument.val);
    object[argument.key] =
        isText ? llvm::json::Value(std::move(text)) : llvm::json::Value(number);
  }
  return llvm::formatv("{0}", llvm::json::Value(std::move(object)));
}

void RemarkStreamer::streamOptimizationRemark(const Remark &remark) {
  std::string message;
  for (const Remark::Arg &argument : remark.getArgs())
    if (argument.key == "Remark")
      message += (message.empty() ? "" : "; ") + argument.val;
  std::string category = remark.getCombinedCategoryName().str();
  std::string name = remark.getRemarkName().str();
  std::string function = remark.getFunction().str();
  if (function == "<unknown function>") // how MLIR says that there is none
    function.clear();
  std::string arguments = toJSON(remark.getArgs());
  TenonDiagnostic result = {};
  result.severity = TENON_REMARK;
  result.message = message.c_str();
  result.kind = kindOf(remark);
  result.category = category.c_str();
  result.name = name.c_str();
  result.function = function.c_str();
  result.arguments = arguments.c_str();
  setPlace(result, remark.getLocation());
  sink.give(result);
}

void DiagnosticSink::attach(MLIRContext &context, bool remarksWanted) {
  context.printOpOnDiagnostic(false); // one message, without the IR
  context.getDiagEngine().registerHandler(
      [this](Diagnostic &diagnostic) { giveWithNotes(*this, diagnostic); });
  if (!remarksWanted || !handler)
    return;
  remark::RemarkCategories every;
  every.all = every.passed = every.missed = every.analysis = every.failed =
      ".*";
  LogicalResult enabled = remark::enableOptimizationRemarks(
      context, std::make_unique<RemarkStreamer>(*this),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), every);
  assert(succeeded(enabled) && "the filters are right");
  (void)enabled;
}
