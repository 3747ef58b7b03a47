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

#include "Check.h"
#include "Error.h"
#include "Gpu.h"
#include "Model.h"
#include "Npy.h"
#include "Sgemm.h"
#include "Text.h"
#include "Timing.h"

#include <algorithm>
#include <cerrno>
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
  std::string architecture; ///< of a GPU
  ModelHandle model;
  ModelInfo info;
};
} // namespace

static ModelHandle openModel(const Arguments &arguments, const Gpu *gpu) {
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
  std::unique_ptr<Gpu> gpu;
  if (arguments.target == "cuda")
    gpu = makeGpu(arguments.gpu);
  Opened opened;
  opened.model = openModel(arguments, gpu.get());
  opened.info = parseManifest(tenonModelManifest(opened.model.get()));
  if (gpu && !opened.info.hasGpuCode())
    throw Error("the model has no GPU code; compile it with tenon-compile "
                "--target=" +
                gpu->architecture() +
                ", or run with "
                "--target=cpu");
  if (arguments.target.empty() && !arguments.manifest &&
      opened.info.hasGpuCode() && hasGpu())
    gpu = makeGpu(0);
  if (gpu)
    opened.architecture = gpu->architecture();
  if (gpu)
    opened.device = std::move(gpu);
  else
    opened.device = makeCpu();
  return opened;
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
// Main
//===----------------------------------------------------------------------===//

/// Compares the products with SGEMM's, where it could have computed them.
static void reportBesideSgemm(const std::string &source, const Opened &opened,
                              const Comparison &comparison, Device &cpu) {
  if (!isSource(source) || opened.device->isCpu() || !couldBeSgemm(comparison))
    return;
  try {
    printBesideSgemm(
        comparison,
        runSgemm(comparison, source, opened.architecture, *opened.device, cpu));
  } catch (const Error &error) { // such as a GPU without cuBLASLt
    printf("no SGEMM to compare with: %s\n", error.what());
  }
}

/// Prints the outputs, or how far they are off, and says how many failed.
static int report(const Arguments &arguments, const Opened &opened,
                  const EntryInfo &entry, Device &cpu, const Tensors &inputs,
                  const std::vector<Tensor> &outputs) {
  if (arguments.check) {
    Comparison comparison{
        entry, inputs, outputs,
        runReference(opened.model.get(), opened.info, entry, cpu, inputs)};
    int failures = printErrors(comparison, arguments.tolerance);
    reportBesideSgemm(arguments.model, opened, comparison, cpu);
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
  const ModelInfo &info = opened.info;
  const EntryInfo &entry = info.entry(arguments.function);
  if (arguments.check)
    findReference(info, entry);
  Files files = planFiles(arguments, *info.find(entry.run));
  std::unique_ptr<Device> cpu = makeCpu();
  Tensors inputs = makeInputs(*cpu, info, entry, arguments);

  Device &device = *opened.device;
  Program program(opened.model.get(), info, entry, device, inputs);
  program.call()();
  device.synchronize();
  std::vector<Tensor> outputs;
  for (const Tensor &output : program.call().outputs)
    outputs.push_back(output.toHost(*cpu));
  writeFiles(files, outputs);

  printf("%s on %s\n", entry.name.c_str(), device.name().c_str());
  int failures = report(arguments, opened, entry, *cpu, inputs, outputs);
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
  printModel(opened.info);
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
