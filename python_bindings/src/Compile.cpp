//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler's C interface. Diagnostics and remarks become dicts, which
// tenon/errors.py makes objects of.
//
//===----------------------------------------------------------------------===//

#include "Native.h"
#include "tenon-c/Compiler.h"

#include <algorithm>
#include <mutex>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

using namespace tenon::python;
namespace nb = nanobind;
using namespace nb::literals;

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

namespace {

/// A diagnostic that outlives its callback, which runs without Python's lock.
struct Record {
  TenonSeverity severity;
  std::string message, file, kind, category, name, function, arguments;
  int32_t line, column;
};

/// All that a compilation says, and the text that it may give.
class Report {
public:
  /// A TenonDiagnosticHandler; `context` is the Report.
  static void handle(const TenonDiagnostic *diagnostic, void *context) {
    auto text = [](const char *string) {
      return std::string(string ? string : "");
    };
    auto &self = *static_cast<Report *>(context);
    std::lock_guard<std::mutex> lock(self.mutex);
    self.records.push_back({diagnostic->severity, text(diagnostic->message),
                            text(diagnostic->file), text(diagnostic->kind),
                            text(diagnostic->category), text(diagnostic->name),
                            text(diagnostic->function),
                            text(diagnostic->arguments), diagnostic->line,
                            diagnostic->column});
  }

  /// Takes the text of tenonLower; `context` is the Report.
  static void write(const char *part, size_t size, void *context) {
    static_cast<Report *>(context)->text.append(part, size);
  }

  nb::list toPython() const {
    nb::list list;
    for (const Record &record : records)
      list.append(toDict(record));
    return list;
  }

private:
  static nb::dict toDict(const Record &record) {
    static const char *const severities[] = {"note", "remark", "warning",
                                             "error"};
    nb::dict dict;
    dict["severity"] = severities[record.severity];
    dict["message"] = record.message;
    dict["file"] = record.file;
    dict["line"] = record.line;
    dict["column"] = record.column;
    if (record.kind.empty())
      return dict;
    dict["kind"] = record.kind;
    dict["category"] = record.category;
    dict["name"] = record.name;
    dict["function"] = record.function;
    nb::object parse = nb::module_::import_("json").attr("loads");
    dict["arguments"] =
        parse(record.arguments.empty() ? "{}" : record.arguments);
    return dict;
  }

  std::mutex mutex;
  std::vector<Record> records;

public:
  std::string text;
};

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// Options as Python gives them, and as the C interface takes them.
class Options {
public:
  Options(std::vector<std::string> targets, bool remarks, nb::kwargs given);
  Options(const Options &) = delete;

  /// A view of these options.
  TenonCompileOptions toC() const;

private:
  std::vector<std::string> targets;
  std::vector<const char *> pointers; ///< to the targets
  bool remarks;
#define TENON_SWITCH(NAME, FLAG, HELP) bool NAME = false;
#define TENON_TEXT(NAME, FLAG, DEFAULT, VALUES, HELP)                          \
  std::string NAME = DEFAULT;
#include "tenon-c/CompileOptions.def"
};

} // namespace

/// How Python writes a flag.
static std::string toKeyword(std::string flag) {
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

Options::Options(std::vector<std::string> targets, bool remarks,
                 nb::kwargs given)
    : targets(std::move(targets)), remarks(remarks) {
  for (const std::string &target : this->targets)
    pointers.push_back(target.c_str());
  size_t known = 0;
  auto take = [&](const char *flag, auto &value) {
    std::string keyword = toKeyword(flag);
    if (!given.contains(keyword.c_str()))
      return;
    value = nb::cast<std::decay_t<decltype(value)>>(given[keyword.c_str()]);
    ++known;
  };
#define TENON_SWITCH(NAME, FLAG, HELP) take(FLAG, NAME);
#define TENON_TEXT(NAME, FLAG, DEFAULT, VALUES, HELP) take(FLAG, NAME);
#include "tenon-c/CompileOptions.def"
  if (known != given.size())
    throw nb::type_error("an option is not known; see tenon._native.OPTIONS");
}

TenonCompileOptions Options::toC() const {
  TenonCompileOptions options = {};
  options.targets = pointers.data();
  options.numTargets = static_cast<int32_t>(pointers.size());
  options.remarks = remarks;
#define TENON_SWITCH(NAME, FLAG, HELP) options.NAME = NAME;
#define TENON_TEXT(NAME, FLAG, DEFAULT, VALUES, HELP)                          \
  options.NAME = NAME.c_str();
#include "tenon-c/CompileOptions.def"
  return options;
}

/// tenon._native.CompileFailed; its argument is the list of what was said.
static PyObject *compileFailed;

/// Runs `compile` without Python's lock, and returns what it said.
template <typename Compile>
static nb::list reported(Report &report, Compile compile) {
  TenonStatus status;
  {
    nb::gil_scoped_release unlocked;
    status = compile();
  }
  nb::list list = report.toPython();
  if (status == TENON_OK)
    return list;
  PyErr_SetObject(compileFailed, list.ptr());
  throw nb::python_error();
}

static nb::list compileModel(const std::string &source,
                             const std::string &sourceName,
                             const std::string &output,
                             const std::optional<std::string> &header,
                             const Options &options) {
  TenonCompileOptions given = options.toC();
  Report report;
  return reported(report, [&] {
    return tenonCompile(source.data(), source.size(), sourceName.c_str(),
                        &given, output.c_str(),
                        header ? header->c_str() : nullptr, Report::handle,
                        &report);
  });
}

static std::pair<std::string, nb::list> lower(const std::string &source,
                                              const std::string &sourceName,
                                              const std::string &stage,
                                              const Options &options) {
  TenonCompileOptions given = options.toC();
  Report report;
  nb::list list = reported(report, [&] {
    return tenonLower(source.data(), source.size(), sourceName.c_str(), &given,
                      stage.c_str(), Report::write, Report::handle, &report);
  });
  return {report.text, list};
}

//===----------------------------------------------------------------------===//
// Bindings
//===----------------------------------------------------------------------===//

/// The default of each option but `targets` and `remarks`, by keyword, and the
/// words that it may be, none where it is no choice.
static nb::dict listOptions() {
  nb::dict options;
  auto add = [&](const char *flag, nb::object value, std::string_view values) {
    nb::list words;
    for (size_t bar; (bar = values.find('|')) != values.npos;
         values.remove_prefix(bar + 1))
      words.append(values.substr(0, bar));
    if (words.size() != 0)
      words.append(values);
    options[toKeyword(flag).c_str()] = nb::make_tuple(value, nb::tuple(words));
  };
#define TENON_SWITCH(NAME, FLAG, HELP) add(FLAG, nb::bool_(false), "");
#define TENON_TEXT(NAME, FLAG, DEFAULT, VALUES, HELP)                          \
  add(FLAG, nb::str(DEFAULT), VALUES);
#include "tenon-c/CompileOptions.def"
  return options;
}

static void bindOptions(nb::module_ &module) {
  nb::class_<Options>(module, "Options", "How to compile.")
      .def(nb::init<std::vector<std::string>, bool, nb::kwargs>(), "targets"_a,
           "remarks"_a, "options"_a);
  module.attr("OPTIONS") = listOptions();
}

void tenon::python::bindCompiler(nb::module_ &module) {
  compileFailed = PyErr_NewException("tenon._native.CompileFailed",
                                     PyExc_RuntimeError, nullptr);
  module.attr("CompileFailed") = nb::handle(compileFailed);
  bindOptions(module);
  module.def("compile", compileModel, "source"_a, "source_name"_a, "output"_a,
             "header"_a.none(), "options"_a,
             "Compiles MLIR text into the shared object `output`, and the C "
             "header `header`. Returns diagnostics and remarks.");
  module.def("lower", lower, "source"_a, "source_name"_a, "stage"_a,
             "options"_a, "Returns the IR after a stage, and what was said.");
  module.def("fingerprint", tenonCompilerFingerprint,
             "Changes with any change of the compiler.");
  module.def("toolchain", tenonCompilerToolchain,
             "The CUDA tools found, and their versions.");
  module.def("targets", tenonListTargets, "The GPU targets known.");
}
