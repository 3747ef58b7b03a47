//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The families of kernels that schedules can be of.
//
//===----------------------------------------------------------------------===//

#include "tenon/Schedule/RegisterFamilies.h"

#include "Schedule/MmaSync/MmaSyncFamily.h"
#include "Schedule/Wgmma/WgmmaFamily.h"

using namespace mlir;
using namespace mlir::tenon;

void tenon::registerScheduleFamilies() {
  static const MmaSyncFamily mmaSync;
  static const WgmmaFamily wgmma;
  static const bool once = [] {
    ScheduleFamily::setAll({&wgmma, &mmaSync});
    return true;
  }();
  (void)once;
}
