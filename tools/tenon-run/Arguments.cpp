//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command line, read by CLI11.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "Error.h"
#include "Help.h"
#include "tenon-c/Model.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <iostream>

using namespace tenon::run;
using Strings = std::vector<std::string>;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Splits "NAME=VALUE" strings into a map.
static std::map<std::string, std::string>
parsePairs(const Strings &pairs, const char *option, const char *value) {
  std::map<std::string, std::string> map;
  for (const std::string &pair : pairs) {
    size_t equals = pair.find('=');
    if (equals == std::string::npos || !equals || equals + 1 == pair.size())
      throw Error(std::string(option) + " " + pair + ": give it as " + option +
                  " NAME=" + value);
    std::string name = pair.substr(0, equals);
    if (!map.emplace(name, pair.substr(equals + 1)).second)
      throw Error(std::string(option) + " gives '" + name +
                  "' twice; give it once");
  }
  return map;
}

/// A whole number from 0 on, or nothing.
static std::optional<int64_t> parseCount(const std::string &text) {
  int64_t value;
  if (text.empty() || text.find_first_not_of("0123456789") != text.npos ||
      !CLI::detail::lexical_cast(text, value))
    return std::nullopt;
  return value;
}

static void parseTarget(const std::string &text, Arguments &arguments) {
  size_t colon = text.find(':');
  arguments.target = text.substr(0, colon);
  if (colon == std::string::npos &&
      (text.empty() || text == "cpu" || text == "cuda"))
    return;
  auto gpu = colon == std::string::npos ? std::nullopt
                                        : parseCount(text.substr(colon + 1));
  if (arguments.target != "cuda" || !gpu || *gpu > 1023)
    throw Error("unknown target '" + text +
                "'; give --target=cpu, --target=cuda or, for GPU number N, "
                "--target=cuda:N");
  arguments.gpu = static_cast<int>(*gpu);
}

static void parseDims(const Strings &pairs, Arguments &arguments) {
  for (auto &[name, text] : parsePairs(pairs, "--dim", "EXTENT")) {
    auto extent = parseCount(text);
    if (!extent)
      throw Error("--dim " + name + "=" + text +
                  ": an extent is a whole number from 0 on");
    arguments.dims[name] = *extent;
  }
}

static void checkNumbers(const Arguments &arguments, bool isTimed) {
  if (isTimed && arguments.timedCalls < 1)
    throw Error("--time needs at least one call");
  if (arguments.tolerance &&
      !(*arguments.tolerance >= 0 && std::isfinite(*arguments.tolerance)))
    throw Error("--tolerance is a number from 0 on");
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
/// Strings whose parts are read after CLI11 is done.
struct Raw {
  Strings inputs, outputs, dims;
  std::string target;
};
} // namespace

static void addModel(CLI::App &app, Arguments &arguments, Raw &raw) {
  app.add_option("MODEL", arguments.model,
                 "What tenon-compile made (.so), or a model as text (.mlir),\n"
                 "which is compiled for this run")
      ->type_name("")
      ->required();
  app.add_option("--function", arguments.function,
                 "Function to run (default: the only one, or 'forward')")
      ->type_name("NAME");
  app.add_option("--target", raw.target,
                 "cpu, cuda, or cuda:N for GPU number N (default: cuda if\n"
                 "the compiled model has GPU code and a GPU is there)")
      ->type_name("TARGET");
  app.add_flag("--manifest", arguments.manifest,
               "Print the model's functions, tensors and targets, and exit");
}

/// Adds an option that is tenon-compile's too, and is checked there.
static void addChoice(CLI::App &app, Arguments &arguments,
                      const std::string &name, const char *description) {
  auto pass = [&arguments, name](const std::string &value) {
    arguments.choices.push_back("--" + name + "=" + value);
  };
  std::string type = name;
  std::ranges::transform(type, type.begin(), toupper);
  app.add_option_function<std::string>("--" + name, pass, description)
      ->type_name(type)
      ->group("GPU code of a .mlir, as tenon-compile's options");
}

static void addChoices(CLI::App &app, Arguments &arguments) {
  addChoice(app, arguments, "strategy",
            "How linear layers are computed: auto (default),\n"
            "library or tiled");
  addChoice(app, arguments, "schedule",
            "Schedule of every tiled layer: 'mma_sync, tile = ...'\n"
            "(default: one is chosen for each)");
  addChoice(app, arguments, "reduction",
            "How tiled layers reduce for a training batch norm: auto\n"
            "(default), separate, two_phase, resident or input_moments");
}

static void addInputs(CLI::App &app, Arguments &arguments, Raw &raw) {
  app.add_option("--input", raw.inputs, "Read an input; may be repeated")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false)
      ->group("Inputs");
  app.add_option("--dim", raw.dims,
                 "Extent of a dynamic dimension that no --input gives,\n"
                 "such as m=64; may be repeated")
      ->type_name("NAME=EXTENT")
      ->allow_extra_args(false)
      ->group("Inputs");
  app.add_option("--seed", arguments.seed, "Of random inputs (default 0)")
      ->type_name("N")
      ->group("Inputs");
}

static void addOutputs(CLI::App &app, Arguments &arguments, Raw &raw) {
  app.add_option("--output", raw.outputs, "Write an output; may be repeated")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false)
      ->group("Outputs");
  app.add_option("--output-dir", arguments.outputDir,
                 "Write every output to DIR/NAME.npy")
      ->type_name("DIR")
      ->group("Outputs");
  auto *check = app.add_flag(
      "--check", arguments.check,
      "Compare outputs with the model's float64 reference, which\n"
      "tenon-compile --reference adds; exit 1 if one is too far off");
  check->group("Outputs");
  app.add_option("--tolerance", arguments.tolerance,
                 "Relative rms error that --check allows")
      ->type_name("X")
      ->needs(check)
      ->group("Outputs");
  app.add_flag("--time{20}", arguments.timedCalls,
               "Time N calls (default 20): median, min and max")
      ->type_name("[=N]")
      ->group("Outputs");
}

std::optional<Arguments> tenon::run::parseArguments(int argc, char **argv) {
  Arguments arguments;
  Raw raw;
  CLI::App app(kDescription, "tenon-run");
  app.footer(kFooter);
  app.formatter(std::make_shared<HelpFormatter>());
  app.get_formatter()->column_width(26);
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version",
                       std::string("tenon-run ") + tenonRuntimeVersion(),
                       "Print the version and exit");
  addModel(app, arguments, raw);
  addChoices(app, arguments);
  addInputs(app, arguments, raw);
  addOutputs(app, arguments, raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &success) { // --help, --version
    app.exit(success, std::cout, std::cerr);
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    throw Error(std::string(error.what()) + "; see tenon-run --help");
  }
  parseTarget(raw.target, arguments);
  parseDims(raw.dims, arguments);
  arguments.inputs = parsePairs(raw.inputs, "--input", "FILE.npy");
  arguments.outputs = parsePairs(raw.outputs, "--output", "FILE.npy");
  checkNumbers(arguments, app.count("--time"));
  return arguments;
}
