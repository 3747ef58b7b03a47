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

#include <mutex>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
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
struct Options {
  std::string name;
  std::vector<std::string> targets;
  std::string cpu;
  bool allowRoundingChanges, foldWeights, reference, remarks;
  std::string parameters, strategy, schedule, reduction;

  /// A view of these options; `pointers` becomes part of it.
  TenonCompileOptions toC(std::vector<const char *> &pointers) const {
    for (const std::string &target : targets)
      pointers.push_back(target.c_str());
    return {.name = name.c_str(),
            .targets = pointers.data(),
            .numTargets = static_cast<int32_t>(pointers.size()),
            .cpu = cpu.c_str(),
            .allowRoundingChanges = allowRoundingChanges,
            .foldWeights = foldWeights,
            .reference = reference,
            .remarks = remarks,
            .parameters = parameters.c_str(),
            .strategy = strategy.c_str(),
            .schedule = schedule.c_str(),
            .reduction = reduction.c_str()};
  }
};

} // namespace

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
  std::vector<const char *> targets;
  TenonCompileOptions given = options.toC(targets);
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
  std::vector<const char *> targets;
  TenonCompileOptions given = options.toC(targets);
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

static void bindOptions(nb::module_ &module) {
  nb::class_<Options>(module, "Options", "How to compile.")
      .def(nb::init<std::string, std::vector<std::string>, std::string, bool,
                    bool, bool, bool, std::string, std::string, std::string,
                    std::string>(),
           nb::kw_only(), "name"_a, "targets"_a, "cpu"_a,
           "allow_rounding_changes"_a, "fold_weights"_a, "reference"_a,
           "remarks"_a, "parameters"_a = "", "strategy"_a = "auto",
           "schedule"_a = "", "reduction"_a = "auto");
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
