//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU as a device. The CUDA driver is opened at first need, as the runtime
// does, so that tenon-run starts on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_GPU_H
#define TENON_TOOLS_TENON_RUN_GPU_H

#include "Device.h"

namespace tenon::run {

class Gpu : public Device {
public:
  /// "sm_90a": what tenon-compile calls this GPU.
  virtual std::string architecture() const = 0;
};

/// Is there a driver and a GPU that it can use?
bool hasGpu();

/// GPU number `ordinal`, with a stream of its own.
std::unique_ptr<Gpu> makeGpu(int ordinal);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_GPU_H
