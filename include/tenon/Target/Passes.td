//===- Passes.td - The choice of strategy -----------------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TARGET_PASSES_TD
#define TENON_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def TenonSelectStrategy : Pass<"tenon-select-strategy", "::mlir::ModuleOp"> {
  let summary = "Choose how each linear layer is computed";
  let description = [{
    TODO
  }];
  let options = [
    ListOption<"targets", "targets", "std::string",
               "GPU architectures, as sm_80,sm_90a">,
    Option<"strategy", "strategy", "std::string", "\"auto\"",
           "auto, or the strategy of every layer that can have it: library, "
           "tiled">,
    Option<"schedule", "schedule", "std::string", "\"\"",
           "the schedule of every tiled layer, as in #tenon.schedule<...>">,
  ];
  let dependentDialects = ["::mlir::tenon::TenonDialect"];
}

#endif // TENON_TARGET_PASSES_TD
