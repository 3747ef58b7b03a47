//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles and lowers models, for callers in C.
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"

#include "tenon/Pipelines/Compiler.h"
#include "tenon/Pipelines/InitAll.h"
#include "tenon/Pipelines/WriteFile.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::tenon;

namespace {
/// One call's work: a context of its own, from the source on.
class Compilation {
public:
  Compilation(TenonDiagnosticHandler handler, void *user)
      : sink(handler, user), context(makeRegistry()) {}

  LogicalResult read(StringRef source, const char *sourceName,
                     const TenonCompileOptions *given);
  LogicalResult compile(StringRef output, const char *header);
  FailureOr<std::string> lower(StringRef stage);

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }
  LogicalResult fail(StringRef message) const {
    sink.error(message);
    return failure();
  }

  DiagnosticSink sink;
  llvm::SourceMgr sources;
  MLIRContext context;
  CompileOptions options;
  OwningOpRef<ModuleOp> module;
};
} // namespace

static CompileOptions convert(const TenonCompileOptions &given) {
  CompileOptions options;
#define TENON_SWITCH(NAME, FLAG, HELP) options.NAME = given.NAME;
#define TENON_TEXT(NAME, FLAG, DEFAULT, VALUES, HELP)                          \
  if (given.NAME)                                                              \
    options.NAME = given.NAME;
#include "tenon-c/CompileOptions.def"
  for (StringRef target : ArrayRef(given.targets, given.numTargets))
    if (target != "cpu" && !llvm::is_contained(options.cudaTargets, target))
      options.cudaTargets.push_back(target.str());
  return options;
}

LogicalResult Compilation::read(StringRef source, const char *sourceName,
                                const TenonCompileOptions *given) {
  sink.attach(context, given && given->remarks);
  if (!source.data())
    return fail("the source is null");
  if (given && given->numTargets && !given->targets)
    return fail("the list of targets is null");
  if (given)
    options = convert(*given);
  std::string problem = findProblem(options);
  if (!problem.empty())
    return fail(problem);
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(
                                 source, sourceName ? sourceName : "model"),
                             llvm::SMLoc());
  module = loadModel(sources, &context);
  return success(module.get() != nullptr);
}

LogicalResult Compilation::compile(StringRef output, const char *header) {
  for (StringRef path : {output, StringRef(header ? header : "")})
    if (llvm::sys::fs::equivalent(options.parameters, path))
      return fail("output '" + path.str() +
                  "' is the file of the parameters; it would be overwritten");
  FailureOr<CompiledModel> model = compileModel(*module, options);
  if (failed(model))
    return failure();
  auto object = emitObject(*model->module, model->description.cpu);
  if (failed(object))
    return fail(
        "this build of LLVM has no back end for the host's architecture");
  if (llvm::Error error =
          writeSharedObject(*model, *object, output, header ? header : ""))
    return fail(llvm::toString(std::move(error)));
  return success();
}

FailureOr<std::string> Compilation::lower(StringRef stage) {
  if (llvm::none_of(getStages(),
                    [&](const Stage &known) { return known.name == stage; }))
    return fail("stage=" + stage.str() + " is not known; expected " +
                llvm::join(llvm::map_range(getStages(),
                                           [](const Stage &known) {
                                             return known.name.str();
                                           }),
                           ", "));
  if (failed(runUntil(*module, stage, options)))
    return failure();
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().printNameLocAsPrefix());
  return text;
}

static TenonStatus toStatus(LogicalResult result) {
  return succeeded(result) ? TENON_OK : TENON_INVALID_ARGUMENT;
}

TenonStatus tenonCompile(const char *source, size_t sourceBytes,
                         const char *sourceName,
                         const TenonCompileOptions *options, const char *output,
                         const char *header, TenonDiagnosticHandler handler,
                         void *context) {
  Compilation compilation(handler, context);
  if (failed(compilation.read({source, sourceBytes}, sourceName, options)))
    return TENON_INVALID_ARGUMENT;
  return toStatus(compilation.compile(output ? output : "", header));
}

TenonStatus tenonLower(const char *source, size_t sourceBytes,
                       const char *sourceName,
                       const TenonCompileOptions *options, const char *stage,
                       void (*write)(const char *, size_t, void *),
                       TenonDiagnosticHandler handler, void *context) {
  Compilation compilation(handler, context);
  if (failed(compilation.read({source, sourceBytes}, sourceName, options)))
    return TENON_INVALID_ARGUMENT;
  FailureOr<std::string> text = compilation.lower(stage ? stage : "");
  if (failed(text))
    return TENON_INVALID_ARGUMENT;
  write(text->data(), text->size(), context);
  return TENON_OK;
}
