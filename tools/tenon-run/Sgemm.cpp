//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors beside SGEMM's.
//
//===----------------------------------------------------------------------===//

#include "Sgemm.h"

#include "Error.h"
#include "Model.h"

#include <algorithm>

using namespace tenon::run;

bool tenon::run::couldBeSgemm(const Comparison &comparison) {
  auto isF32 = [](const Tensor &tensor) {
    return tensor.dtype->number == kTenonF32;
  };
  return comparison.entry.precision == "fp32" &&
         std::ranges::all_of(comparison.outputs, isF32) &&
         std::ranges::all_of(comparison.inputs, isF32,
                             &Tensors::value_type::second);
}

/// Attributes in the text outrank the strategy that it is compiled with.
static bool hasTiledKernels(const ModelInfo &model, const EntryInfo &entry) {
  return std::ranges::any_of(model.kernels, [&](const std::string &kernel) {
    return kernel.starts_with(entry.run + "_tiled");
  });
}

std::vector<Tensor> tenon::run::runSgemm(const Comparison &comparison,
                                         const std::string &source,
                                         const std::string &architecture,
                                         Device &device, Device &cpu) {
  ModelHandle model = compileAndOpen(
      source, {"--strategy=library", "--target=" + architecture});
  ModelInfo info = parseManifest(tenonModelManifest(model.get()));
  const EntryInfo &entry = info.entry(comparison.entry.name);
  if (hasTiledKernels(info, entry))
    throw Error("the text chooses the strategy of a layer");
  Program program(model.get(), info, entry, device, comparison.inputs);
  program.call()();
  device.synchronize();
  std::vector<Tensor> outputs;
  for (const Tensor &output : program.call().outputs)
    outputs.push_back(output.toHost(cpu));
  return outputs;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
struct Row {
  std::string what, tenon, sgemm;
};
} // namespace

static std::string figure(double value, const std::string &precision) {
  char text[64];
  snprintf(text, sizeof(text), "%.3g (%s)", value, precision.c_str());
  return text;
}

void tenon::run::printBesideSgemm(const Comparison &comparison,
                                  const std::vector<Tensor> &sgemm) {
  const std::string &precision = comparison.entry.precision;
  std::vector<Row> rows = {{"error against float64", "Tenon", "SGEMM"}};
  for (size_t i = 0; i < sgemm.size(); ++i) {
    const Tensor &output = comparison.outputs[i];
    Deviation ours = measure(output, comparison.reference[i]);
    Deviation theirs = measure(sgemm[i], comparison.reference[i]);
    rows.push_back({output.name + ", max", figure(ours.max, precision),
                    figure(theirs.max, precision)});
    rows.push_back({output.name + ", rms", figure(ours.rms, precision),
                    figure(theirs.rms, precision)});
  }
  size_t widths[2] = {};
  for (const Row &row : rows) {
    widths[0] = std::max(widths[0], row.what.size());
    widths[1] = std::max(widths[1], row.tenon.size());
  }
  for (const Row &row : rows)
    printf("%-*s  %-*s  %s\n", static_cast<int>(widths[0]), row.what.c_str(),
           static_cast<int>(widths[1]), row.tenon.c_str(), row.sgemm.c_str());
}
