//===- Model.h - A loaded model ---------------------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the opaque handles of the C interface point to.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_MODEL_H
#define TENON_LIB_RUNTIME_MODEL_H

#include "Device.h"
#include "Division.h"
#include "Manifest.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

struct TenonFunction {
  TenonModel *model;
  const TenonFunctionImage *image; ///< null of one that was divided
  const tenon::runtime::FunctionInfo *info;
  /// Null of one that has code of its own.
  std::unique_ptr<tenon::runtime::Division> division = nullptr;
};

struct TenonModel {
  static constexpr int kMaxDevices = 64;

  ~TenonModel();

  /// Reads and checks `image`.
  static TenonStatus create(const TenonModelImage &image,
                            std::unique_ptr<TenonModel> &model);

  /// The state on GPU `ordinal`, made on first need.
  TenonStatus device(int ordinal, tenon::runtime::DeviceState *&state);

  /// See tenonModelCountRowsOutside.
  TenonStatus countRowsOutside(DLDevice device, uint64_t &count) const;

  /// What the model brings itself, loaded on `device` on first need.
  TenonStatus packed(DLDevice device,
                     const tenon::runtime::PackedTensors *&tensors);

  const TenonModelImage *image = nullptr;
  tenon::runtime::Manifest manifest;
  std::vector<TenonFunction> functions; ///< the divided ones last
  /// Empty, or why this CPU cannot run the model's CPU code.
  std::string cpuProblem;
  void *library = nullptr; ///< closed with the model

private:
  TenonStatus createDevice(int ordinal, tenon::runtime::DeviceState *&state);

  std::array<std::atomic<tenon::runtime::DeviceState *>, kMaxDevices> devices{};
  tenon::runtime::PackedTensors cpuPacked;
  std::atomic<bool> isCpuPacked{false};
  std::mutex mutex; ///< guards the creation of devices and of `cpuPacked`
};

#endif // TENON_LIB_RUNTIME_MODEL_H
