//===- Device.h - A model on one GPU ----------------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that a model keeps for one device: the retained primary context,
// the loaded kernels, the cuBLASLt handle and the plans asked for so far. Made
// once under the model's lock; calls only read it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_DEVICE_H
#define TENON_LIB_RUNTIME_DEVICE_H

#include "BlasLtPlan.h"
#include "Driver.h"
#include "Manifest.h"
#include "PackedTensors.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace tenon::runtime {

struct Kernel {
  CUfunction function = nullptr;
  /// What CUDA lets a launch ask for now; raised by the first that needs more.
  std::atomic<int32_t> dynamicSharedLimit{0};
  /// The last question to `residentBlocks` and its answer in blocks, 16 bits.
  /// In one word, so that calls read it without a lock.
  std::atomic<uint64_t> occupancy{0};
};

/// What a launch asks of a kernel.
struct LaunchShape {
  int64_t grid[3], block[3];
  int64_t sharedBytes;
  int32_t clusterBlocks = 1; ///< along x; 1: no clusters
  bool waitsItself = false;  ///< for what ran before it on the stream
  int32_t minBlocks = 0;     ///< that are resident together; 0: any number
};

/// The driver's form of a shape, with what does not fit cuLaunchKernel.
struct LaunchConfig : CUlaunchConfig {
  LaunchConfig(const LaunchShape &shape, CUstream stream);
  LaunchConfig(const LaunchConfig &) = delete;

private:
  CUlaunchAttribute storage[2];
};

class DeviceState {
public:
  /// Loads `image` on GPU number `ordinal`.
  static TenonStatus create(const Manifest &manifest,
                            const TenonModelImage &image, int ordinal,
                            std::unique_ptr<DeviceState> &state);
  /// Unloads it. Errors are dropped: at process exit the driver may be gone.
  ~DeviceState();

  /// Says that `what` failed.
  TenonStatus failCuda(CUresult result, const char *what) const;

  /// Lets `kernel` be launched with that much dynamic shared memory.
  CUresult raiseSharedLimit(Kernel &kernel, int32_t bytes);

  /// How many blocks of that shape, in whole clusters, are on the device at
  /// once; its grid does not matter. The driver is asked once. It counts what a
  /// launch may ask for now, so raise the limit before.
  CUresult residentBlocks(Kernel &kernel, const LaunchShape &shape,
                          int64_t &blocks);

  /// Bytes of dynamic shared memory that a block can have at most.
  int32_t maxDynamicShared(const Kernel &kernel) const;

  /// "sm_90"; with the variant "sm_90a", which is what to compile for.
  std::string architecture(bool withVariant) const;

  /// Rows outside, of all splits so far; waits for them.
  TenonStatus countRowsOutside(uint64_t &count) const;

  /// The handle; models without library calls never need libcublasLt, so that
  /// it is missing is an error only here.
  TenonStatus blasLtHandle(cublasLtHandle_t &handle);

  const Driver &driver;
  const Manifest &manifest;
  const int ordinal;
  CUcontext context = nullptr;
  std::vector<Kernel> kernels; ///< in the manifest's order
  const CublasLt *blasLt = nullptr;
  PlanCache plans;
  PackedTensors packed; ///< what the model brings itself

private:
  DeviceState(const Driver &driver, const Manifest &manifest, int ordinal)
      : driver(driver), manifest(manifest), ordinal(ordinal) {}
  TenonStatus retain();
  TenonStatus loadModule(const TenonModelImage &image);
  TenonStatus loadKernel(size_t index);
  TenonStatus createBlasLt();
  TenonStatus failNoBinary(CUresult result) const;
  CUresult askResidentBlocks(const Kernel &kernel, const LaunchShape &shape,
                             int64_t &blocks) const;

  CUdevice device = 0;
  int32_t multiprocessors = 0;
  CUmodule module = nullptr;
  std::atomic<cublasLtHandle_t> handle{nullptr};
  std::mutex mutex; ///< guards the handle's creation and shared limits
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_DEVICE_H
