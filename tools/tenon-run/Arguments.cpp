//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command line.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "Error.h"

#include <charconv>
#include <cmath>
#include <functional>

using namespace tenon::run;

static const char kHelp[] =
    R"(Runs a function of a compiled model on the CPU or a GPU, on given or random inputs;
saves, checks and times its outputs.

Usage: tenon-run [OPTIONS] MODEL

  MODEL                   What tenon-compile made (.so), or a model as text (.mlir),
                          which is compiled for this run

Options:
  -h, --help              Print this help and exit
  --version               Print the version and exit
  --function NAME         Function to run (default: the only one, or 'forward')
  --target TARGET         cpu, cuda, or cuda:N for GPU number N (default: cuda if
                          the compiled model has GPU code and a GPU is there)
  --manifest              Print the model's functions, tensors and targets, and exit

GPU code of a .mlir, as tenon-compile's options, which its --help explains:
)"
#define TENON_STRATEGY(NAME, FLAG, DEFAULT, VALUES, HELP)                      \
  "  --" FLAG " " VALUES "\n"
#include "tenon-c/CompileOptions.def"
    R"(
Inputs:
  --input NAME=FILE.npy   Read an input; may be repeated
  --dim NAME=EXTENT       Extent of a dynamic dimension that no --input gives,
                          such as m=64; may be repeated
  --seed N                Of random inputs (default 0)

Outputs:
  --output NAME=FILE.npy  Write an output; may be repeated
  --output-dir DIR        Write every output to DIR/NAME.npy
  --check                 Compare outputs with the model's float64 reference, which
                          tenon-compile --reference adds; exit 1 if one is too far off
  --tolerance X           Relative rms error that --check allows
  --time[=N]              Time N calls (default 20): median, min and max

Inputs without a file are random, the same for the same seed on every machine:
  parameters of shape [N, K]       uniform in [-1/sqrt(K), 1/sqrt(K))
  names with 'var' in them         uniform in [0.5, 1.5)
  everything else                  uniform in [-1, 1)
Files are NumPy's .npy: little-endian float16, float32, float64, in C order.
What NumPy lacks is read and written as its bits: bfloat16 as uint16,
float8_e4m3fn and float8_e5m2 as uint8.

--check fails on any NaN, on an infinity that the reference lacks, and above a
relative rms error of 1e-12 for float64, 1e-5 for float32, 2e-3 for float16 and
tf32, 2e-2 for bfloat16, 1e-1 and 2e-1 for float8_e4m3fn and _e5m2. The least precise of the entry's inputs, the output and
the model's precision counts. That is the error of an output as a whole; beside,
each element must be as near as the roundings of its own operands leave it, which
small elements show. Without that judgement are --tolerance, models of more than
256 ops, with ops of other dialects that are not elementwise, and those compiled
with --allow-rounding-changes or --fold-weights.

A .mlir on a GPU, of float32 and precision fp32, is compiled for cuBLASLt too: a
table has SGEMM's errors beside Tenon's, of the same inputs. Precision fp32 means
no more than SGEMM's error.

Examples:
  See that a model computes what it should, at 64 rows:
    tenon-run model.mlir --dim m=64 --check
  See that float32 products on tensor cores are no worse than SGEMM's:
    tenon-run model.mlir --dim m=64 --target=cuda --strategy=tiled --check
  Run a compiled model on a GPU with an input of yours, and time it:
    tenon-compile model.mlir --target=sm_90a -o libmodel.so
    tenon-run libmodel.so --target=cuda --input x=x.npy --output-dir=. --time
)";

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// A number that is all of the text, from 0 on; else fails with `problem`.
template <typename T>
static T parse(const std::string &text, const std::string &problem) {
  T value;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || !(value >= 0))
    throw Error(problem);
  return value;
}

/// Adds "NAME=VALUE" to a map, whose values `read` makes of texts.
template <typename T>
static void addPair(const std::string &pair, const std::string &option,
                    const char *value, std::map<std::string, T> &to,
                    const auto &read) {
  size_t equals = pair.find('=');
  if (equals == std::string::npos || !equals || equals + 1 == pair.size())
    throw Error(option + " " + pair + ": give it as " + option +
                " NAME=" + value);
  std::string name = pair.substr(0, equals);
  if (!to.emplace(name, read(pair.substr(equals + 1))).second)
    throw Error(option + " gives '" + name + "' twice; give it once");
}

static void setTarget(const std::string &text, Arguments &arguments) {
  size_t colon = text.find(':');
  arguments.target = text.substr(0, colon);
  if (text == "cpu" || text == "cuda")
    return;
  std::string problem = "unknown target '" + text +
                        "'; give --target=cpu, --target=cuda or, for GPU "
                        "number N, --target=cuda:N";
  if (arguments.target != "cuda")
    throw Error(problem);
  arguments.gpu = parse<uint16_t>(text.substr(colon + 1), problem);
}

static void setTolerance(const std::string &text, Arguments &arguments) {
  constexpr const char *kProblem = "--tolerance is a number from 0 on";
  arguments.tolerance = parse<double>(text, kProblem);
  if (!std::isfinite(*arguments.tolerance))
    throw Error(kProblem);
}

static void setTimedCalls(const std::string &text, Arguments &arguments) {
  constexpr const char *kProblem =
      "--time needs at least one call, as --time=20";
  arguments.timedCalls = parse<int>(text, kProblem);
  if (!arguments.timedCalls)
    throw Error(kProblem);
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
/// What each option does.
struct Options {
  std::map<std::string, std::function<void()>> flags;
  std::map<std::string, std::function<void(const std::string &)>> values;
};
} // namespace

static Options makeOptions(Arguments &arguments) {
  using Text = const std::string &;
  Options options;
  options.flags = {{"--manifest", [&] { arguments.manifest = true; }},
                   {"--check", [&] { arguments.check = true; }},
                   {"--time", [&] { arguments.timedCalls = 20; }}};
  options.values = {
      {"--function", [&](Text text) { arguments.function = text; }},
      {"--target", [&](Text text) { setTarget(text, arguments); }},
      {"--input",
       [&](Text text) {
         addPair(text, "--input", "FILE.npy", arguments.inputs,
                 std::identity());
       }},
      {"--dim",
       [&](Text text) {
         std::string problem =
             "--dim " + text + ": an extent is a whole number from 0 on";
         addPair(text, "--dim", "EXTENT", arguments.dims,
                 [&](Text extent) { return parse<int64_t>(extent, problem); });
       }},
      {"--seed",
       [&](Text text) {
         arguments.seed = parse<uint64_t>(
             text, "--seed " + text + ": a seed is a whole number from 0 on");
       }},
      {"--output",
       [&](Text text) {
         addPair(text, "--output", "FILE.npy", arguments.outputs,
                 std::identity());
       }},
      {"--output-dir", [&](Text text) { arguments.outputDir = text; }},
      {"--tolerance", [&](Text text) { setTolerance(text, arguments); }},
      {"--time", [&](Text text) { setTimedCalls(text, arguments); }}};
  for (std::string name : {
#define TENON_STRATEGY(NAME, FLAG, DEFAULT, VALUES, HELP) "--" FLAG,
#include "tenon-c/CompileOptions.def"
       })
    options.values[name] = [&arguments, name](Text text) {
      arguments.choices.push_back(name + "=" + text);
    };
  return options;
}

[[noreturn]] static void misuse(const std::string &problem) {
  throw Error(problem + "; see tenon-run --help");
}

std::optional<Arguments> tenon::run::parseArguments(int argc, char **argv) {
  Arguments arguments;
  Options options = makeOptions(arguments);
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i];
    size_t equals = text.find('=');
    if (text == "-h" || text == "--help")
      return fputs(kHelp, stdout), std::nullopt;
    if (text == "--version")
      return printf("tenon-run %s\n", tenonRuntimeVersion()), std::nullopt;
    auto flag = options.flags.find(text);
    auto value = options.values.find(text.substr(0, equals));
    if (flag != options.flags.end())
      flag->second();
    else if (value == options.values.end()) {
      if (text[0] == '-' || !arguments.model.empty())
        misuse("The following argument was not expected: " + text);
      arguments.model = text;
    } else if (equals != std::string::npos)
      value->second(text.substr(equals + 1));
    else if (++i != argc)
      value->second(argv[i]);
    else
      misuse(text + " requires a value");
  }
  if (arguments.model.empty())
    misuse("MODEL is required");
  if (arguments.tolerance && !arguments.check)
    misuse("--tolerance requires --check");
  return arguments;
}
