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

#include <dlpack/dlpack.h>
#include <functional>
#include <memory>
#include <string>

namespace tenon::run {

class Device {
public:
  virtual ~Device() = default;

  virtual DLDevice id() const = 0;
  /// "the CPU", "GPU 0 (NVIDIA H200)".
  virtual std::string name() const = 0;
  bool isCpu() const { return id().device_type == kDLCPU; }

  /// Memory aligned to 256 bytes; null where there is none left.
  virtual void *allocate(size_t bytes) = 0;
  virtual void release(void *memory) = 0;
  virtual void upload(void *target, const void *host, size_t bytes) = 0;
  virtual void download(void *host, const void *source, size_t bytes) = 0;
  /// Makes every float in the memory a NaN.
  virtual void poison(void *memory, size_t bytes) = 0;

  /// The stream for tenonFunctionRun.
  virtual void *stream() = 0;
  /// Waits until all work is done; fails if some went wrong.
  virtual void synchronize() = 0;
  /// Milliseconds from the begin of `work` to the end of what it enqueued.
  virtual double time(const std::function<void()> &work) = 0;
};

std::unique_ptr<Device> makeCpu();

/// Memory of a device, released with it.
class Buffer {
public:
  /// `what` names the memory in the message of a failure.
  Buffer(Device &device, size_t bytes, const std::string &what);
  void *data() const { return memory.get(); }

private:
  struct Release {
    Device *device;
    void operator()(void *memory) const { device->release(memory); }
  };
  std::unique_ptr<void, Release> memory;
};

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_DEVICE_H
