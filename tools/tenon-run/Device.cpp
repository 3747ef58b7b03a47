//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CPU as a device.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "Error.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace tenon::run;

static size_t physicalMemory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

namespace {
class Cpu : public Device {
public:
  DLDevice id() const override { return {kDLCPU, 0}; }
  std::string name() const override { return "the CPU"; }
  void *allocate(size_t bytes) override {
    // Linux gives more than there is, and ends the program that writes to it.
    if (bytes > physicalMemory())
      return nullptr;
    return std::aligned_alloc(256, (bytes / 256 + 1) * 256);
  }
  void release(void *memory) override { std::free(memory); }
  void upload(void *target, const void *host, size_t bytes) override {
    memcpy(target, host, bytes);
  }
  void download(void *host, const void *source, size_t bytes) override {
    memcpy(host, source, bytes);
  }
  void poison(void *memory, size_t bytes) override {
    memset(memory, 0xff, bytes);
  }
  void *stream() override { return nullptr; }
  void synchronize() override {}
  double time(const std::function<void()> &work) override {
    auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now() - start)
        .count();
  }
};
} // namespace

std::unique_ptr<Device> tenon::run::makeCpu() {
  return std::make_unique<Cpu>();
}

Buffer::Buffer(Device &device, size_t bytes, const std::string &what)
    : memory(device.allocate(bytes), Release{&device}) {
  if (!memory)
    throw Error("no memory for " + what + ": " + std::to_string(bytes) +
                " bytes on " + device.name() + "; give smaller extents");
}
