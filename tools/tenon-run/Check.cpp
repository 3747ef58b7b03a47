//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Comparison of outputs with the model's float64 reference, and of errors with
// SGEMM's. An infinity is right where the reference has the same one; a NaN
// never is.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "Error.h"

#include <algorithm>
#include <cmath>

using namespace tenon::run;

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

const FunctionInfo &tenon::run::requireReference(const Manifest &manifest,
                                                 const EntryInfo &entry) {
  if (const FunctionInfo *found = findReference(manifest, entry))
    return *found;
  throw Error("the model has no reference for '" + entry.name +
              "'; compile it with tenon-compile --reference, or give "
              "tenon-run the .mlir");
}

/// What another function gives for the inputs of an entry.
static std::vector<Tensor> runBeside(TenonModel *model,
                                     const Manifest &manifest, EntryInfo entry,
                                     const std::string &function, Device &cpu,
                                     const Tensors &inputs) {
  entry.prepare = "";
  entry.run = function;
  return Program(model, manifest, entry, cpu, inputs).getOutputs(cpu);
}

std::vector<Tensor> tenon::run::runReference(TenonModel *model,
                                             const Manifest &manifest,
                                             const EntryInfo &entry,
                                             Device &cpu,
                                             const Tensors &inputs) {
  note("running the float64 reference on the CPU");
  return runBeside(model, manifest, entry,
                   requireReference(manifest, entry).name, cpu, inputs);
}

std::vector<Tensor> tenon::run::runBounds(TenonModel *model,
                                          const Manifest &manifest,
                                          const EntryInfo &entry, Device &cpu,
                                          const Tensors &inputs) {
  if (!find(manifest, entry.bounds))
    return {};
  note("computing how far off each element may be, on the CPU");
  return runBeside(model, manifest, entry, entry.bounds, cpu, inputs);
}

/// Relative rms error that rounding to a dtype or a precision may cause.
static double toleranceOf(const std::string &precision) {
  static const std::map<std::string, double> tolerances = {
      {"float64", 1e-12},   {"float32", 1e-5}, {"float16", 2e-3},
      {"bfloat16", 2e-2},   {"fp32", 1e-5},    {"tf32", 2e-3},
      {"fp16", 2e-3},       {"bf16", 2e-2},    {"float8_e4m3fn", 1e-1},
      {"float8_e5m2", 2e-1}};
  auto found = tolerances.find(precision);
  return found == tolerances.end() ? 0 : found->second;
}

/// The tolerance of the least precise of all that an output was made of.
static double defaultTolerance(const Comparison &comparison,
                               const Tensor &output) {
  double tolerance = std::max(toleranceOf(comparison.entry.precision),
                              toleranceOf(output.type().name));
  for (const auto &[name, input] : comparison.inputs)
    tolerance = std::max(tolerance, toleranceOf(input.type().name));
  return tolerance;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

namespace {
/// How far an output is off.
struct Deviation {
  /// NaN or infinite where one of the counts below is not 0.
  double max = 0, rms = 0, relative = 0;
  int64_t nans = 0, infinities = 0; ///< the latter: unlike the reference's
};
} // namespace

/// Of two tensors of one shape on the CPU.
static Deviation measure(const Tensor &output, const Tensor &reference) {
  Deviation deviation;
  double squares = 0, referenceSquares = 0;
  int64_t compared = 0;
  for (int64_t i = 0, e = output.count(); i != e; ++i) {
    double value = output.get(i), wanted = reference.get(i);
    if (std::isnan(value) || std::isnan(wanted)) {
      ++deviation.nans;
      continue;
    }
    if (std::isinf(value) || std::isinf(wanted)) {
      deviation.infinities += value != wanted;
      continue;
    }
    double error = std::abs(value - wanted);
    deviation.max = std::max(deviation.max, error);
    squares += error * error;
    referenceSquares += wanted * wanted;
    ++compared;
  }
  deviation.rms = compared ? std::sqrt(squares / compared) : 0;
  // Any error is infinite beside a reference of zeros.
  if (squares > 0)
    deviation.relative = std::sqrt(squares / referenceSquares);
  if (deviation.nans || deviation.infinities)
    deviation.max = deviation.rms = deviation.relative =
        deviation.nans ? NAN : INFINITY;
  return deviation;
}

/// Prints which elements are further off than their bounds, if any; says how
/// many. One whose bound or reference is not finite is not judged.
static int64_t printBeyond(const Tensor &output, const Tensor &reference,
                           const Tensor &bounds) {
  int64_t count = 0, first = 0;
  double times = 0;
  for (int64_t i = 0, e = output.count(); i != e; ++i) {
    double error = std::abs(output.get(i) - reference.get(i));
    if (!(error > bounds.get(i)) || !std::isfinite(reference.get(i)))
      continue;
    if (!count++)
      first = i;
    times = std::max(times, error / bounds.get(i));
  }
  if (count)
    printf("%s: %lld of %lld elements are further off than rounding explains, "
           "up to %.3g times; element %lld is %.9g for %.9g: FAILED\n",
           output.name.c_str(), static_cast<long long>(count),
           static_cast<long long>(output.count()), times,
           static_cast<long long>(first), output.get(first),
           reference.get(first));
  return count;
}

/// A model of another version may have a reference of another function.
static void checkShapes(const Comparison &comparison,
                        const std::vector<Tensor> &reference) {
  if (reference.size() != comparison.outputs.size())
    throw Error("the reference of '" + comparison.entry.name +
                "' has other outputs than the function; compile the model "
                "again");
  for (size_t i = 0; i < comparison.outputs.size(); ++i)
    if (reference[i].shape != comparison.outputs[i].shape)
      throw Error("output '" + comparison.outputs[i].name +
                  "' has another shape in the reference; compile the model "
                  "again");
}

int tenon::run::printErrors(const Comparison &comparison,
                            std::optional<double> tolerance) {
  checkShapes(comparison, comparison.reference);
  bool judgesElements = !comparison.bounds.empty() && !tolerance;
  if (judgesElements)
    checkShapes(comparison, comparison.bounds);
  int failures = 0;
  for (size_t i = 0; i < comparison.outputs.size(); ++i) {
    const Tensor &output = comparison.outputs[i];
    Deviation deviation = measure(output, comparison.reference[i]);
    double allowed = tolerance.value_or(defaultTolerance(comparison, output));
    bool isWithin = deviation.relative <= allowed; // false for a NaN
    printf("%s: %s, max abs error %.3g, rms error %.3g, relative rms error "
           "%.3g (tolerance %g)",
           output.name.c_str(), output.typeText().c_str(), deviation.max,
           deviation.rms, deviation.relative, allowed);
    if (deviation.nans)
      printf(", %lld NaN", static_cast<long long>(deviation.nans));
    if (deviation.infinities)
      printf(", %lld infinite unlike the reference",
             static_cast<long long>(deviation.infinities));
    printf(": %s\n", isWithin ? "ok" : "FAILED");
    bool hasBeyond =
        judgesElements &&
        printBeyond(output, comparison.reference[i], comparison.bounds[i]);
    failures += !isWithin || hasBeyond;
  }
  return failures;
}

//===----------------------------------------------------------------------===//
// SGEMM's errors
//===----------------------------------------------------------------------===//

static bool couldBeSgemm(const Comparison &comparison) {
  auto isF32 = [](const Tensor &tensor) { return tensor.dtype == kTenonF32; };
  return comparison.entry.precision == "fp32" &&
         std::ranges::all_of(comparison.outputs, isF32) &&
         std::ranges::all_of(comparison.inputs, isF32,
                             &Tensors::value_type::second);
}

static std::vector<Tensor> runSgemm(const Comparison &comparison,
                                    const std::string &source, Device &device,
                                    Device &cpu) {
  ModelHandle model = compileAndOpen(
      source, {"--strategy=library", "--target=" + device.architecture()});
  Manifest manifest = readManifest(model.get());
  const EntryInfo &entry = getEntry(manifest, comparison.entry.name);
  // Attributes in the text outrank the strategy that it is compiled with.
  for (const std::string &kernel : manifest.kernels)
    if (kernel.starts_with(entry.run + "_tiled"))
      throw Error("the text chooses the strategy of a layer");
  return Program(model.get(), manifest, entry, device, comparison.inputs)
      .getOutputs(cpu);
}

static void printTable(const Comparison &comparison,
                       const std::vector<Tensor> &sgemm) {
  using Row = std::array<std::string, 3>;
  auto figure = [&](double value) {
    char text[64];
    snprintf(text, sizeof(text), "%.3g (%s)", value,
             comparison.entry.precision.c_str());
    return std::string(text);
  };
  std::vector<Row> rows = {{"error against float64", "Tenon", "SGEMM"}};
  for (size_t i = 0; i < sgemm.size(); ++i) {
    const std::string &name = comparison.outputs[i].name;
    Deviation ours = measure(comparison.outputs[i], comparison.reference[i]);
    Deviation theirs = measure(sgemm[i], comparison.reference[i]);
    rows.push_back({name + ", max", figure(ours.max), figure(theirs.max)});
    rows.push_back({name + ", rms", figure(ours.rms), figure(theirs.rms)});
  }
  int widths[2] = {};
  for (const Row &row : rows)
    for (int i : {0, 1})
      widths[i] = std::max(widths[i], static_cast<int>(row[i].size()));
  for (const Row &row : rows)
    printf("%-*s  %-*s  %s\n", widths[0], row[0].c_str(), widths[1],
           row[1].c_str(), row[2].c_str());
}

void tenon::run::printBesideSgemm(const Comparison &comparison,
                                  const std::string &source, Device &device,
                                  Device &cpu) {
  if (!isSource(source) || device.isCpu() || !couldBeSgemm(comparison))
    return;
  try {
    printTable(comparison, runSgemm(comparison, source, device, cpu));
  } catch (const Error &error) { // such as a GPU without cuBLASLt
    printf("no SGEMM to compare with: %s\n", error.what());
  }
}
