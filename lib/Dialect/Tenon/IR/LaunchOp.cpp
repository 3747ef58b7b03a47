//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Tenon/IR/Tenon.h"

using namespace mlir;
using namespace mlir::tenon;

LogicalResult LaunchOp::verify() {
  for (auto [name, count] : {std::pair("cluster", getCluster()),
                             std::pair("resident", getResident())}) {
    if (!count)
      continue;
    // launch-C3
    if (!getPersistent())
      return emitOpError() << "'" << name
                           << "' is for persistent launches; give it "
                              "'persistent' too";
    // launch-C4, launch-C5
    if (*count > *getPersistent())
      return emitOpError() << "'" << name << "' must be at most 'persistent', "
                           << *getPersistent() << ", but is " << *count;
  }
  return success();
}
