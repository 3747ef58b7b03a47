//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and checks the command line of tenon-compile.
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "tenon/Codegen/Host/ModelDescription.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace {
/// The flags, made after LLVM's own, some of which have the same names, are
/// gone.
struct Flags {
  cl::OptionCategory category{"tenon-compile options"};
  cl::opt<std::string> input{cl::Positional, cl::Required,
                             cl::desc("<model.mlir, - for stdin>"),
                             cl::cat(category)};
  cl::opt<std::string> output{
      "o",
      cl::desc("Output file; the C header is written beside a shared object. "
               "Default: libNAME.so, or NAME with the form's extension"),
      cl::value_desc("file"), cl::cat(category)};
  cl::list<std::string> targets{
      "target", cl::CommaSeparated,
      cl::desc(
          "GPU architectures to make code for, beside the CPU's which is "
          "always there: sm_80,sm_90a. 'cpu' alone: no GPU code (default)"),
      cl::value_desc("cpu|sm_80|sm_90a|..."), cl::cat(category)};
  cl::opt<std::string> emit{
      "emit", cl::init("so"),
      cl::desc("What to write: so (default), obj, llvm, ptx, cubin or fatbin"),
      cl::value_desc("form"), cl::cat(category)};
  cl::opt<std::string> stopAfter{
      "stop-after",
      cl::desc(
          "Print the IR after this stage and stop; 'help' lists the stages"),
      cl::value_desc("stage"), cl::cat(category)};
  cl::opt<bool> time{
      "time", cl::desc("Print to stderr where the compilation's time went"),
      cl::cat(category)};
#define TENON_SWITCH(NAME, FLAG, HELP)                                         \
  cl::opt<bool> NAME{FLAG, cl::desc(HELP), cl::cat(category)};
#define TENON_TEXT(NAME, FLAG, DEFAULT, VALUES, HELP)                          \
  cl::opt<std::string> NAME{FLAG, cl::init(DEFAULT),                           \
                            cl::desc(StringRef(DEFAULT).empty() ? HELP         \
                                                                : HELP         \
                                         " (default " DEFAULT ")"),            \
                            cl::value_desc(VALUES), cl::cat(category)};
#include "tenon-c/CompileOptions.def"
  // Named and meant as mlir-opt's.
  cl::opt<std::string> remarksAll{
      "remarks-filter", cl::desc("Show all remarks whose category matches"),
      cl::value_desc("regex"), cl::cat(category)};
  cl::opt<std::string> remarksPassed{
      "remarks-filter-passed", cl::desc("Show remarks on what was done"),
      cl::value_desc("regex"), cl::cat(category)};
  cl::opt<std::string> remarksMissed{
      "remarks-filter-missed",
      cl::desc("Show remarks on what could not be done"),
      cl::value_desc("regex"), cl::cat(category)};
  cl::opt<std::string> remarksAnalysis{
      "remarks-filter-analyse",
      cl::desc("Show remarks on what was chosen and why"),
      cl::value_desc("regex"), cl::cat(category)};
};
} // namespace

std::string headerOf(StringRef output) {
  SmallString<128> header(output);
  llvm::sys::path::replace_extension(header, "h");
  return header.str().str();
}

static std::string identifierOf(StringRef path) {
  StringRef stem = llvm::sys::path::stem(path);
  bool hasNone = path == "-" || stem.empty() || stem.starts_with(".");
  return tenon::makeIdentifier(hasNone ? "model" : stem);
}

static void printVersion(raw_ostream &os) {
  os << "tenon-compile " TENON_VERSION " (MLIR and LLVM " LLVM_VERSION_STRING
        ")\n";
}

static std::string listStages() {
  std::string text = "stages, in order:";
  for (const tenon::Stage &stage : tenon::getStages())
    text += ("\n  " + stage.name).str() +
            std::string(14 - stage.name.size(), ' ') + stage.summary.str();
  return text;
}

static std::string defaultOutput(const CompileFlags &flags) {
  if (flags.emit == "so")
    return "lib" + flags.options.name + ".so";
  StringRef extension = llvm::StringSwitch<StringRef>(flags.emit)
                            .Case("obj", "o")
                            .Case("llvm", "ll")
                            .Default(flags.emit);
  return flags.options.name + "." + extension.str();
}

/// Files that are read stay as they are.
static std::string checkOverwritten(const CompileFlags &flags) {
  auto find = [&](StringRef path) -> StringRef {
    if (llvm::sys::fs::equivalent(flags.input, path))
      return "the input";
    if (llvm::sys::fs::equivalent(flags.options.parameters, path))
      return "--parameters";
    return "";
  };
  if (StringRef read = find(flags.output); !read.empty())
    return ("-o " + flags.output + " is " + read + "; it would be overwritten")
        .str();
  if (flags.emit != "so" || !flags.stopAfter.empty())
    return "";
  std::string header = headerOf(flags.output);
  if (StringRef read = find(header); !read.empty())
    return ("-o " + flags.output + " has its C header written to " + header +
            ", which is " + read + "; take another name")
        .str();
  return "";
}

/// What is wrong with the flags, "" if nothing.
static std::string check(const CompileFlags &flags) {
  if (!llvm::is_contained({"so", "obj", "llvm", "ptx", "cubin", "fatbin"},
                          flags.emit))
    return "--emit=" + flags.emit +
           " is not a form; expected so, obj, llvm, ptx, cubin or fatbin";
  std::string problem = tenon::findProblem(flags.options);
  if (!problem.empty())
    return "--" + problem;
  if (flags.emit == "so" && flags.stopAfter.empty() && flags.output == "-")
    return "-o -: a shared object and its header are files; name the shared "
           "object libNAME.so, or write another form (--emit)";
  if (flags.emit == "so" && headerOf(flags.output) == flags.output)
    return "-o " + flags.output +
           " is where the C header would be; name the "
           "shared object libNAME.so";
  if (std::string problem = checkOverwritten(flags); !problem.empty())
    return problem;
  bool needsGPU =
      flags.emit == "ptx" || flags.emit == "cubin" || flags.emit == "fatbin";
  if (needsGPU && flags.options.cudaTargets.empty())
    return "--emit=" + flags.emit +
           " needs a GPU target, such as --target=sm_90a";
  if (!flags.stopAfter.empty() &&
      llvm::none_of(tenon::getStages(), [&](const tenon::Stage &stage) {
        return stage.name == flags.stopAfter;
      }))
    return "--stop-after=" + flags.stopAfter + " is not a stage; " +
           listStages();
  return "";
}

static std::optional<remark::RemarkCategories>
remarkCategories(const Flags &flags) {
  remark::RemarkCategories categories;
  auto set = [](std::optional<std::string> &category,
                const cl::opt<std::string> &flag) {
    if (flag.getNumOccurrences())
      category = flag;
    return flag.getNumOccurrences() != 0;
  };
  // The engine takes `all` as an addition to a filter that is set.
  for (auto *category : {&categories.passed, &categories.missed,
                         &categories.analysis, &categories.failed})
    set(*category, flags.remarksAll);
  bool any = set(categories.all, flags.remarksAll);
  any |= set(categories.passed, flags.remarksPassed);
  any |= set(categories.missed, flags.remarksMissed);
  any |= set(categories.analysis, flags.remarksAnalysis);
  return any ? std::optional(categories) : std::nullopt;
}

/// What is wrong with the filters of remarks, "" if nothing.
static std::string checkFilters(const Flags &flags) {
  for (const cl::opt<std::string> *flag :
       {&flags.remarksAll, &flags.remarksPassed, &flags.remarksMissed,
        &flags.remarksAnalysis}) {
    std::string problem;
    if (flag->getNumOccurrences() &&
        !llvm::Regex(flag->getValue()).isValid(problem))
      return ("--" + flag->ArgStr + "=" + flag->getValue() +
              " is not a regular expression: " + problem)
          .str();
  }
  return "";
}

static CompileFlags convert(const Flags &given) {
  CompileFlags flags;
  flags.input = given.input;
  flags.output = given.output;
  flags.emit = given.emit;
  flags.stopAfter = given.stopAfter;
  flags.time = given.time;
#define TENON_SWITCH(NAME, FLAG, HELP) flags.options.NAME = given.NAME;
#define TENON_TEXT(NAME, FLAG, DEFAULT, VALUES, HELP)                          \
  flags.options.NAME = given.NAME;
#include "tenon-c/CompileOptions.def"
  if (!given.name.getNumOccurrences())
    flags.options.name = identifierOf(flags.input);
  for (const std::string &target : given.targets)
    if (target != "cpu" &&
        !llvm::is_contained(flags.options.cudaTargets, target))
      flags.options.cudaTargets.push_back(target);
  flags.remarks = remarkCategories(given);
  return flags;
}

std::optional<CompileFlags> parseFlags(int argc, char **argv,
                                       std::string &error) {
  cl::ResetCommandLineParser();
  Flags given;
  // lld reads the registered options once more, when these are gone.
  llvm::scope_exit forget([] { cl::ResetCommandLineParser(); });
  cl::SetVersionPrinter(printVersion);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Compiles a model of tenon ops to a shared object and a C header.\n\n"
      "  tenon-compile model.mlir --target=sm_80,sm_90a -o libmodel.so\n"
      "  tenon-compile model.mlir --stop-after=fuse --remarks-filter=.*\n");
  if (given.stopAfter == "help") {
    llvm::outs() << listStages() << "\n";
    std::exit(0);
  }
  CompileFlags flags = convert(given);
  if (flags.output.empty() && flags.stopAfter.empty())
    flags.output = defaultOutput(flags);
  error = checkFilters(given);
  if (error.empty())
    error = check(flags);
  if (!error.empty())
    return std::nullopt;
  return flags;
}
