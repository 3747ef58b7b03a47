//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `tenon-run --help` says beside the options.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_HELP_H
#define TENON_TOOLS_TENON_RUN_HELP_H

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace tenon::run {

inline constexpr const char *kDescription =
    "Runs a function of a compiled model on the CPU or a GPU, on given or "
    "random "
    "inputs;\nsaves, checks and times its outputs.\n";

inline constexpr const char *kFooter =
    R"(Inputs without a file are random, the same for the same seed on every machine:
  parameters of shape [N, K]       uniform in [-1/sqrt(K), 1/sqrt(K))
  names with 'var' in them         uniform in [0.5, 1.5)
  everything else                  uniform in [-1, 1)
Files are NumPy's .npy: little-endian float16, float32, float64, in C order.
bfloat16, which NumPy lacks, is read and written as its bits, uint16.

--check fails on any NaN, on an infinity that the reference lacks, and above a
relative rms error of 1e-12 for float64, 1e-5 for float32, 2e-3 for float16 and
tf32, 2e-2 for bfloat16. The least precise of the entry's inputs, the output and
the model's precision counts. The error is that of an output as a whole: beside
large elements it does not show what small ones are off by; give inputs that are
all small to see that.

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
    tenon-run libmodel.so --target=cuda --input x=x.npy --output-dir=. --time)";

/// Names options as they are typed: without "{20}", "..." and "REQUIRED".
class HelpFormatter : public CLI::Formatter {
  std::string make_option_name(const CLI::Option *option,
                               bool isPositional) const override {
    std::string name = CLI::Formatter::make_option_name(option, isPositional);
    return name.substr(0, name.find('{'));
  }
  std::string make_option_opts(const CLI::Option *option) const override {
    std::string type = option->get_type_name();
    return (type.empty() || type[0] == '[' ? "" : " ") + type;
  }
};

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_HELP_H
