//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes a model bring its parameters itself.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_HOST_PACKPARAMETERS_H
#define TENON_CODEGEN_HOST_PACKPARAMETERS_H

#include "tenon/Codegen/Host/ModelDescription.h"
#include "tenon/Codegen/Host/SafeTensors.h"

namespace mlir::tenon {

/// Names the run functions of `prepared`, after `--tenon-hoist-prepare`, and of
/// `entries` as the entries: with packed parameters a caller sees one function.
void nameRunFunctions(ModuleOp prepared,
                      std::vector<EntryDescription> &entries);

/// Takes parameters and prepared tensors from the inputs of the model's
/// functions; the runtime brings them. The parameters' values are found in
/// `file` by name and returned as the image holds them, those of other types
/// rounded if `casts`. The error names the tensors that are not there or differ
/// in type, or whose numbers their type does not hold.
llvm::Expected<std::string> packParameters(ModelDescription &model,
                                           const SafeTensors &file, bool casts);

} // namespace mlir::tenon

#endif // TENON_CODEGEN_HOST_PACKPARAMETERS_H
