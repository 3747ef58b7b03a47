//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The families that there are.
//
//===----------------------------------------------------------------------===//

#include "TiledFamily.h"

using namespace mlir;
using namespace mlir::tenon;

/// Set once, before there are threads that read it.
static SmallVector<const TiledFamily *> &getFamilies() {
  static SmallVector<const TiledFamily *> families;
  return families;
}

const TiledFamily &TiledFamily::of(ScheduleAttr schedule) {
  auto *found = llvm::find_if(getFamilies(), [&](const TiledFamily *candidate) {
    return candidate->traits.family == schedule.getFamily();
  });
  assert(found != getFamilies().end() && "no kernels of this family");
  return **found;
}

void TiledFamily::setAll(ArrayRef<const TiledFamily *> families) {
  getFamilies().assign(families.begin(), families.end());
}
