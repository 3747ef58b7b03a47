//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Comparison of outputs with the model's float64 reference. An infinity is
// right where the reference has the same one; a NaN never is.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "Error.h"
#include "Text.h"

#include <algorithm>
#include <cmath>

using namespace tenon::run;

const FunctionInfo &tenon::run::findReference(const ModelInfo &model,
                                              const EntryInfo &entry) {
  if (const FunctionInfo *found = model.findReference(entry))
    return *found;
  throw Error("the model has no reference for '" + entry.name +
              "'; compile it with tenon-compile --reference, or give "
              "tenon-run the .mlir");
}

std::vector<Tensor> tenon::run::runReference(TenonModel *model,
                                             const ModelInfo &info,
                                             const EntryInfo &entry,
                                             Device &cpu,
                                             const Tensors &inputs) {
  note("running the float64 reference on the CPU");
  EntryInfo referenceEntry{entry.name,   "", findReference(info, entry).name,
                           entry.inputs, "", ""};
  Program program(model, info, referenceEntry, cpu, inputs);
  program.call()();
  return std::move(program.call().outputs);
}

//===----------------------------------------------------------------------===//
// Tolerances
//===----------------------------------------------------------------------===//

/// Relative rms error that rounding to a dtype or a precision may cause.
static double toleranceOf(const std::string &precision) {
  static const std::map<std::string, double> tolerances = {
      {"float64", 1e-12}, {"float32", 1e-5}, {"float16", 2e-3},
      {"bfloat16", 2e-2}, {"fp32", 1e-5},    {"tf32", 2e-3},
      {"fp16", 2e-3},     {"bf16", 2e-2}};
  auto found = tolerances.find(precision);
  return found == tolerances.end() ? 0 : found->second;
}

/// The tolerance of the least precise of all that an output was made of.
static double defaultTolerance(const EntryInfo &entry, const Tensors &inputs,
                               const Tensor &output) {
  double tolerance =
      std::max(toleranceOf(entry.precision), toleranceOf(output.dtype->name));
  for (const auto &[name, input] : inputs)
    tolerance = std::max(tolerance, toleranceOf(input.dtype->name));
  return tolerance;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

Deviation tenon::run::measure(const Tensor &output, const Tensor &reference) {
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

static void print(const Tensor &output, const Deviation &deviation,
                  double tolerance) {
  printf("%s: %s, max abs error %.3g, rms error %.3g, relative rms error %.3g "
         "(tolerance %g)",
         output.name.c_str(), output.typeText().c_str(), deviation.max,
         deviation.rms, deviation.relative, tolerance);
  if (deviation.nans)
    printf(", %lld NaN", static_cast<long long>(deviation.nans));
  if (deviation.infinities)
    printf(", %lld infinite unlike the reference",
           static_cast<long long>(deviation.infinities));
  printf(": %s\n", deviation.isWithin(tolerance) ? "ok" : "FAILED");
}

/// A model of another version may have a reference of another function.
static void checkShapes(const Comparison &comparison) {
  const std::string &name = comparison.entry.name;
  if (comparison.reference.size() != comparison.outputs.size())
    throw Error("the reference of '" + name +
                "' has other outputs than the function; compile the model "
                "again");
  for (size_t i = 0; i < comparison.outputs.size(); ++i)
    if (comparison.reference[i].shape != comparison.outputs[i].shape)
      throw Error("output '" + comparison.outputs[i].name +
                  "' has another shape in the reference; compile the model "
                  "again");
}

int tenon::run::printErrors(const Comparison &comparison,
                            std::optional<double> tolerance) {
  checkShapes(comparison);
  int failures = 0;
  for (size_t i = 0; i < comparison.outputs.size(); ++i) {
    const Tensor &output = comparison.outputs[i];
    Deviation deviation = measure(output, comparison.reference[i]);
    double allowed = tolerance.value_or(
        defaultTolerance(comparison.entry, comparison.inputs, output));
    print(output, deviation, allowed);
    failures += !deviation.isWithin(allowed);
  }
  return failures;
}
