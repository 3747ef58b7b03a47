//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt with Tenon's dialects, passes and pipelines.
//
//===----------------------------------------------------------------------===//

#include "tenon/Pipelines/FatalErrors.h"
#include "tenon/Pipelines/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

extern "C" int tenonOptMain(int argc, char **argv) {
  llvm::cl::AddExtraVersionPrinter(
      [](llvm::raw_ostream &os) { os << "Tenon " TENON_VERSION "\n"; });
  mlir::tenon::exitOnFatalErrors("tenon-opt");
  mlir::DialectRegistry registry;
  mlir::tenon::registerAllDialects(registry);
  mlir::tenon::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Tenon optimizer driver\n", registry));
}
