//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a model says of itself in its manifest, as tools ask for it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_DESCRIPTION_H
#define TENON_TOOLS_TENON_RUN_DESCRIPTION_H

#include "Runtime/Manifest.h"

namespace tenon::run {

using runtime::EntryInfo;
using runtime::FunctionInfo;
using runtime::Manifest;
using runtime::TensorInfo;

Manifest readManifest(const TenonModel *model);

/// Null where there is none.
const FunctionInfo *find(const Manifest &model, const std::string &function);
const FunctionInfo *findReference(const Manifest &model,
                                  const EntryInfo &entry);

/// The entry `name`, or the default one for "". Fails where there is none.
const EntryInfo &getEntry(const Manifest &model, const std::string &name);

/// Prints it for people.
void printModel(const Manifest &model);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_DESCRIPTION_H
