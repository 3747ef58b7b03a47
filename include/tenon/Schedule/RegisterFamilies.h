//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SCHEDULE_REGISTERFAMILIES_H
#define TENON_SCHEDULE_REGISTERFAMILIES_H

namespace mlir::tenon {

/// Makes the families of kernels known to the choice of schedules and to its
/// checks; registerAllDialects calls it.
void registerScheduleFamilies();

} // namespace mlir::tenon

#endif // TENON_SCHEDULE_REGISTERFAMILIES_H
