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
  if (const FunctionInfo *found = model.find(entry.name + "_reference"))
    return *found;
  throw Error("the model has no reference for '" + entry.name +
              "'; compile it with tenon-compile --reference, or give "
              "tenon-run the .mlir");
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
  double tolerance = std::max(toleranceOf(entry.precision),
                              toleranceOf(dtypeName(output.dtype)));
  for (const auto &[name, input] : inputs)
    tolerance = std::max(tolerance, toleranceOf(dtypeName(input.dtype)));
  return tolerance;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

namespace {
struct Deviation {
  /// NaN or infinite where one of the counts below is not 0.
  double max = 0, rms = 0, relative = 0;
  int64_t nans = 0, infinities = 0; ///< the latter: unlike the reference's
  bool isWithin(double tolerance) const {
    return relative <= tolerance; // false for a NaN
  }
};
} // namespace

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

int tenon::run::compareWithReference(TenonModel *model, const ModelInfo &info,
                                     const EntryInfo &entry, Device &cpu,
                                     const Tensors &inputs,
                                     const std::vector<Tensor> &outputs,
                                     std::optional<double> tolerance) {
  note("running the float64 reference on the CPU");
  EntryInfo referenceEntry{entry.name, "", findReference(info, entry).name,
                           entry.inputs, ""};
  Program program(model, info, referenceEntry, cpu, inputs);
  Call &reference = program.call();
  reference();
  if (reference.outputs.size() != outputs.size())
    throw Error("the reference of '" + entry.name +
                "' has other outputs than "
                "the function; compile the model again");
  int failures = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor &wanted = reference.outputs[i];
    if (wanted.shape != outputs[i].shape)
      throw Error("output '" + outputs[i].name +
                  "' has another shape in the reference; compile the model "
                  "again");
    Deviation deviation = measure(outputs[i], wanted);
    double allowed =
        tolerance.value_or(defaultTolerance(entry, inputs, outputs[i]));
    print(outputs[i], deviation, allowed);
    failures += !deviation.isWithin(allowed);
  }
  return failures;
}
