//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a model of tenon ops to a shared object and a C header, or to any
// form between.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "tenon/Pipelines/Compiler.h"
#include "tenon/Pipelines/FatalErrors.h"
#include "tenon/Pipelines/InitAll.h"
#include "tenon/Pipelines/ProgressLines.h"
#include "tenon/Pipelines/WriteFile.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"

#include <csignal>

using namespace mlir;
using namespace mlir::tenon;

static int fail(const Twine &message) {
  llvm::errs() << "tenon-compile: error: " << message << "\n";
  return 1;
}

static int write(StringRef path, StringRef content) {
  if (llvm::Error error = writeWholeFile(path, content))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

/// PTX or cubin of the one target asked for.
static int writeKernels(const CompileFlags &flags, const std::string &output,
                        const std::map<std::string, std::string> &byTarget) {
  if (byTarget.empty())
    return fail(
        "the model has no kernels of its own; cuBLASLt does all its work");
  if (byTarget.size() != 1)
    return fail("--emit=" + flags.emit +
                " writes code for one GPU target, but "
                "--target names " +
                Twine(byTarget.size()) +
                "; name one, such as --target=sm_90a, or use --emit=fatbin");
  return write(output, byTarget.begin()->second);
}

static int emit(CompiledModel &model, const CompileFlags &flags,
                const std::string &output) {
  if (flags.emit == "ptx")
    return writeKernels(flags, output, model.kernels.ptx);
  if (flags.emit == "cubin")
    return writeKernels(flags, output, model.kernels.cubin);
  if (flags.emit == "fatbin" && model.kernels.fatbin.empty())
    return writeKernels(flags, output, {});
  if (flags.emit == "fatbin")
    return write(output, model.kernels.fatbin);
  if (flags.emit == "llvm") {
    std::string text;
    llvm::raw_string_ostream(text) << *model.module;
    return write(output, text);
  }
  auto object = emitObject(*model.module, model.description.cpu);
  if (failed(object))
    return fail(
        "this build of LLVM has no back end for the host's architecture");
  if (flags.emit == "obj")
    return write(output, StringRef(object->data(), object->size()));
  if (llvm::Error error =
          writeSharedObject(model, *object, output, headerOf(output)))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

static int printStage(ModuleOp module, const CompileFlags &flags) {
  if (failed(runUntil(module, flags.stopAfter, flags.options)))
    return 1;
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os, OpPrintingFlags().printNameLocAsPrefix());
  return write(flags.output.empty() ? "-" : flags.output, text);
}

extern "C" int tenonCompileMain(int argc, char **argv) {
  // Before LLVM handles signals too, even those that nohup has ignored.
  removeUnfinishedFilesOnSignals();
  llvm::InitLLVM init(argc, argv);
  exitOnFatalErrors("tenon-compile");
  // Beyond a limit on files' size writing fails then, with a message.
  std::signal(SIGXFSZ, SIG_IGN);
  std::string error;
  std::optional<CompileFlags> flags = parseFlags(argc, argv, error);
  if (!flags)
    return fail(error);

  std::unique_ptr<llvm::MemoryBuffer> input =
      openInputFile(flags->input, &error);
  if (!input)
    return fail(error);
  std::optional<ProgressLines> progress;
  if (llvm::sys::Process::StandardErrIsDisplayed())
    progress.emplace(llvm::errs(), "tenon-compile: compiling " + flags->input,
                     std::chrono::seconds(5));
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(input), llvm::SMLoc());
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false); // one message, without the IR
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  if (flags->remarks &&
      failed(remark::enableOptimizationRemarks(
          context, /*streamer=*/nullptr,
          std::make_unique<remark::RemarkEmittingPolicyAll>(), *flags->remarks,
          /*printAsEmitRemarks=*/true)))
    return fail("remarks cannot be enabled");

  DefaultTimingManager times; // printed as it goes out of scope
  times.setEnabled(flags->time);
  times.setDisplayMode(DefaultTimingManager::DisplayMode::Tree);
  TimingScope timing = times.getRootScope();
  TimingScope reading = timing.nest("Reading");
  OwningOpRef<ModuleOp> module = loadModel(sources, &context);
  if (!module)
    return 1;
  reading.stop();
  if (!flags->stopAfter.empty())
    return printStage(*module, *flags);
  FailureOr<CompiledModel> model =
      compileModel(*module, flags->options, timing);
  if (failed(model))
    return 1;
  TimingScope writing = timing.nest("LLVM's code generation and writing");
  return emit(*model, *flags, flags->output);
}
