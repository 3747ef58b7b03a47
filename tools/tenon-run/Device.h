//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a function runs: memory, and the time that work takes there.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_DEVICE_H
#define TENON_TOOLS_TENON_RUN_DEVICE_H

#include "Runtime/Driver.h"

#include <dlpack/dlpack.h>
#include <functional>
#include <memory>
#include <string>

namespace tenon::run {

/// The CPU, or a GPU through the CUDA driver, which is opened at first need:
/// tenon-run starts on every machine.
class Device {
public:
  Device() = default;
  /// GPU number `ordinal`, with a stream of its own.
  explicit Device(int ordinal);
  ~Device();
  Device(const Device &) = delete;

  bool isCpu() const { return !cuda; }
  DLDevice id() const { return {isCpu() ? kDLCPU : kDLCUDA, ordinal}; }
  /// "the CPU", "GPU 0 (NVIDIA H200)".
  std::string name() const;
  /// "sm_90a": what tenon-compile calls this GPU.
  std::string architecture() const;

  /// Memory aligned to 256 bytes, released with the last copy of the pointer.
  /// `what` names it in the message of a failure.
  std::shared_ptr<void> make(size_t bytes, const std::string &what);
  void upload(void *target, const void *host, size_t bytes);
  void download(void *host, const void *source, size_t bytes);
  /// Makes every float in the memory a NaN.
  void poison(void *memory, size_t bytes);

  /// For tenonFunctionRun.
  void *stream() { return queue; }
  /// Waits until all work is done; fails if some went wrong.
  void synchronize();
  /// Milliseconds from the begin of `work` to the end of what it enqueued.
  double time(const std::function<void()> &work);

private:
  const runtime::Driver *cuda = nullptr;
  int ordinal = 0;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream queue = nullptr;
  CUevent start = nullptr, stop = nullptr;
};

/// Is there a driver and a GPU that it can use?
bool hasGpu();

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_DEVICE_H
