//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor in memory of a device.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_TENSOR_H
#define TENON_TOOLS_TENON_RUN_TENSOR_H

#include "Description.h"
#include "Device.h"

#include <map>

namespace tenon::run {

class Tensor {
public:
  /// Contiguous, row-major, its contents undefined.
  Tensor(Device &device, std::string name, TenonDType dtype,
         std::vector<int64_t> shape);

  /// A copy of a tensor on the CPU.
  Tensor(Device &device, const Tensor &host);
  /// A copy on the CPU.
  Tensor toHost(Device &cpu) const;

  const TenonDataType &type() const { return getTenonDataType(dtype); }
  DLTensor view() const;
  int64_t count() const { return elements; }
  size_t bytes() const { return elements * type().bytes; }
  void *data() const { return memory.get(); }
  void poison() { device->poison(data(), bytes()); }

  /// Element `index`; for tensors on the CPU alone.
  double get(int64_t index) const;
  /// Rounds `value` to the dtype, to nearest.
  void set(int64_t index, double value);

  /// "float32 [64, 128]".
  std::string typeText() const;

  const std::string name;
  const TenonDType dtype;
  const std::vector<int64_t> shape;

private:
  Device *device;
  int64_t elements;
  std::shared_ptr<void> memory;
};

/// By name.
using Tensors = std::map<std::string, Tensor>;

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_TENSOR_H
