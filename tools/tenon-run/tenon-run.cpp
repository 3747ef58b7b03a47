//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a function of a compiled model: inputs from files or random, outputs to
// files, compared with a reference, timed. Links libtenon_runtime alone, so it
// goes wherever a compiled model goes.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Check.h"
#include "Error.h"
#include "Npy.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <new>

using namespace tenon::run;

//===----------------------------------------------------------------------===//
// Model and device
//===----------------------------------------------------------------------===//

namespace {
struct Opened {
  std::unique_ptr<Device> device;
  ModelHandle model;
  Manifest manifest;
};
} // namespace

static ModelHandle openModel(const Arguments &arguments, const Device *gpu) {
  if (!isSource(arguments.model)) {
    if (!arguments.choices.empty())
      throw Error(arguments.choices.front() + ": '" + arguments.model +
                  "' is compiled already; give tenon-run the .mlir, or "
                  "tenon-compile the option");
    return openCompiled(arguments.model);
  }
  std::vector<std::string> options = arguments.choices;
  if (arguments.check)
    options.push_back("--reference");
  if (gpu)
    options.push_back("--target=" + gpu->architecture());
  return compileAndOpen(arguments.model, options);
}

static Opened open(const Arguments &arguments) {
  std::unique_ptr<Device> gpu;
  if (arguments.target == "cuda")
    gpu = std::make_unique<Device>(arguments.gpu);
  ModelHandle model = openModel(arguments, gpu.get());
  Manifest manifest = readManifest(model.get());
  bool hasGpuCode = !manifest.cuda.empty() || !manifest.ptx.empty();
  if (gpu && !hasGpuCode)
    throw Error("the model has no GPU code; compile it with tenon-compile "
                "--target=" +
                gpu->architecture() + ", or run with --target=cpu");
  if (arguments.target.empty() && !arguments.manifest && hasGpuCode && hasGpu())
    gpu = std::make_unique<Device>(0);
  return {gpu ? std::move(gpu) : std::make_unique<Device>(), std::move(model),
          std::move(manifest)};
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

namespace {
/// Files to write, by output.
using Files = std::vector<std::pair<std::string, std::string>>;
} // namespace

/// Finds out before the run which files are written, and that they can be.
static Files planFiles(const Arguments &arguments,
                       const FunctionInfo &function) {
  Files files;
  std::vector<std::string> names;
  for (const TensorInfo &output : function.outputs) {
    names.push_back(output.name);
    if (!arguments.outputDir.empty())
      files.emplace_back(output.name,
                         arguments.outputDir + "/" + output.name + ".npy");
  }
  for (const auto &[name, path] : arguments.outputs) {
    if (std::ranges::find(names, name) == names.end())
      throw Error("--output " + name + ": no such output; there are " +
                  join(names));
    files.emplace_back(name, path);
  }
  for (const auto &[name, path] : files)
    checkWritable(path);
  return files;
}

static void writeFiles(const Files &files, const std::vector<Tensor> &outputs) {
  for (const auto &[name, path] : files)
    for (const Tensor &output : outputs)
      if (output.name == name)
        writeNpy(path, output);
}

static void summarize(const Tensor &output) {
  double low = INFINITY, high = -INFINITY, sum = 0;
  int64_t nans = 0;
  for (int64_t i = 0, e = output.count(); i != e; ++i) {
    double value = output.get(i);
    nans += std::isnan(value);
    low = std::fmin(low, value);
    high = std::fmax(high, value);
    sum += std::isnan(value) ? 0 : value;
  }
  printf("%s: %s", output.name.c_str(), output.typeText().c_str());
  if (output.count() > nans)
    printf(", min %.6g, max %.6g, mean %.6g", low, high,
           sum / (output.count() - nans));
  if (nans)
    printf(", %lld NaN", static_cast<long long>(nans));
  printf("\n");
}

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

static constexpr int kWarmUpCalls = 3;
static constexpr int kBackToBack = 10;

static void printTimes(const char *what, std::vector<double> times,
                       const char *unit) {
  std::sort(times.begin(), times.end());
  size_t half = times.size() / 2;
  double median =
      times.size() % 2 ? times[half] : (times[half - 1] + times[half]) / 2;
  printf("%s: median %.4g %s, min %.4g %s, max %.4g %s (%zu calls)\n", what,
         median, unit, times.front(), unit, times.back(), unit, times.size());
}

static void timeGpu(Call &call, Device &device, int count) {
  std::vector<double> fromIdle, backToBack, host;
  for (int i = 0; i < count; ++i) {
    device.synchronize();
    fromIdle.push_back(device.time([&] { call(); }));
  }
  for (int i = 0; i < count; ++i) {
    device.synchronize();
    double total = device.time([&] {
      auto start = std::chrono::steady_clock::now();
      for (int j = 0; j < kBackToBack; ++j)
        call();
      std::chrono::duration<double, std::micro> elapsed =
          std::chrono::steady_clock::now() - start;
      host.push_back(elapsed.count() / kBackToBack);
    });
    backToBack.push_back(total / kBackToBack);
  }
  printTimes("GPU time, from idle", fromIdle, "ms");
  printTimes("GPU time, one of ten back to back", backToBack, "ms");
  printTimes("host time, one of ten back to back", host, "us");
}

/// Times `count` calls and prints median, minimum and maximum. A call from idle
/// pays for its launch; calls back to back hide that behind their predecessors.
static void timeCalls(Call &call, Device &device, int count) {
  // A call on the CPU may take seconds; the one that gave the outputs warmed
  // up.
  for (int i = 0; i < kWarmUpCalls && !device.isCpu(); ++i)
    call();
  if (!device.isCpu())
    return timeGpu(call, device, count);
  std::vector<double> times;
  for (int i = 0; i < count; ++i)
    times.push_back(device.time([&] { call(); }));
  printTimes("CPU time", times, "ms");
}

//===----------------------------------------------------------------------===//
// Main
//===----------------------------------------------------------------------===//

/// Prints the outputs, or how far they are off, and says how many failed.
static int report(const Arguments &arguments, const Opened &opened,
                  const EntryInfo &entry, Device &cpu, const Tensors &inputs,
                  const std::vector<Tensor> &outputs) {
  if (arguments.check) {
    Comparison comparison{
        entry, inputs, outputs,
        runReference(opened.model.get(), opened.manifest, entry, cpu, inputs),
        runBounds(opened.model.get(), opened.manifest, entry, cpu, inputs)};
    int failures = printErrors(comparison, arguments.tolerance);
    printBesideSgemm(comparison, arguments.model, *opened.device, cpu);
    return failures;
  }
  for (const Tensor &output : outputs)
    summarize(output);
  return 0;
}

/// Of f32 products on tensor cores; most models have none.
static void reportRowsOutside(TenonModel *model, const Device &device) {
  uint64_t count;
  check(tenonModelCountRowsOutside(model, device.id(), &count));
  if (count)
    printf("slower path: taken for %llu rows of inputs and weights\n",
           static_cast<unsigned long long>(count));
}

static int runEntry(const Arguments &arguments, const Opened &opened) {
  const Manifest &manifest = opened.manifest;
  const EntryInfo &entry = getEntry(manifest, arguments.function);
  if (arguments.check)
    requireReference(manifest, entry);
  Files files = planFiles(arguments, *find(manifest, entry.run));
  Device cpu;
  Tensors inputs = makeInputs(cpu, manifest, entry, arguments);

  Device &device = *opened.device;
  Program program(opened.model.get(), manifest, entry, device, inputs);
  std::vector<Tensor> outputs = program.getOutputs(cpu);
  writeFiles(files, outputs);

  printf("%s on %s\n", entry.name.c_str(), device.name().c_str());
  int failures = report(arguments, opened, entry, cpu, inputs, outputs);
  reportRowsOutside(opened.model.get(), device);
  if (arguments.timedCalls)
    timeCalls(program.call(), device, arguments.timedCalls);
  if (failures)
    throw Error(std::to_string(failures) + " of " +
                std::to_string(outputs.size()) +
                " outputs differ from the reference by more than the "
                "tolerance; --tolerance=X allows more");
  return 0;
}

static int run(int argc, char **argv) {
  auto arguments = parseArguments(argc, argv);
  if (!arguments)
    return 0;
  Opened opened = open(*arguments);
  if (!arguments->manifest)
    return runEntry(*arguments, opened);
  printModel(opened.manifest);
  return 0;
}

int main(int argc, char **argv) {
  std::string problem;
  try {
    int status = run(argc, argv);
    if (!fflush(stdout) && !ferror(stdout))
      return status;
    problem =
        std::string("cannot write to the standard output: ") + strerror(errno);
  } catch (const CompileFailure &failure) {
    return failure.status;
  } catch (const std::bad_alloc &) {
    problem = "out of memory; give smaller extents";
  } catch (const std::exception &error) {
    problem = error.what();
  }
  // One line, whatever the parts of a message came from.
  std::ranges::replace(problem, '\n', ' ');
  fflush(stdout);
  fprintf(stderr, "tenon-run: error: %s\n", problem.c_str());
  return 1;
}
