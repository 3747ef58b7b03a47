//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor in memory of a device, and the conversions of its elements.
//
//===----------------------------------------------------------------------===//

#include "Tensor.h"

#include "Error.h"
#include "Text.h"

#include <bit>
#include <cmath>

using namespace tenon::run;

static int64_t countElements(const std::string &name,
                             const TenonDataType *dtype,
                             const std::vector<int64_t> &shape) {
  int64_t bytes = dtype->bytes;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      throw Error("tensor '" + name +
                  "' would have more than 2^63 bytes; give smaller extents");
  return bytes / dtype->bytes;
}

Tensor::Tensor(Device &device, std::string name, const TenonDataType *dtype,
               std::vector<int64_t> shape)
    : name(std::move(name)), dtype(dtype), shape(std::move(shape)),
      device(&device), elements(countElements(this->name, dtype, this->shape)),
      buffer(device, bytes(), "tensor '" + this->name + "'") {}

Tensor::Tensor(Device &device, const Tensor &host)
    : Tensor(device, host.name, host.dtype, host.shape) {
  device.upload(data(), host.data(), bytes());
}

Tensor Tensor::toHost(Device &cpu) const {
  Tensor host(cpu, name, dtype, shape);
  device->download(host.data(), data(), bytes());
  return host;
}

DLTensor Tensor::view() const {
  auto bits = static_cast<uint8_t>(8 * dtype->bytes);
  // DLPack has no const; the runtime writes no shape.
  return {data(),
          device->id(),
          static_cast<int32_t>(shape.size()),
          {dtype->dlpackCode, bits, 1},
          const_cast<int64_t *>(shape.data()),
          nullptr,
          0};
}

std::string Tensor::typeText() const {
  std::vector<std::string> extents;
  for (int64_t extent : shape)
    extents.push_back(std::to_string(extent));
  return std::string(dtype->name) + " [" + join(extents) + "]";
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static float fromBFloat16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

static uint16_t toBFloat16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return (bits >> 16) | 0x40; // rounding could make an infinity of it
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16; // ties to even
}

double Tensor::get(int64_t index) const {
  switch (dtype->number) {
  case kTenonF32:
    return static_cast<const float *>(data())[index];
  case kTenonF16:
    return static_cast<const _Float16 *>(data())[index];
  case kTenonBF16:
    return fromBFloat16(static_cast<const uint16_t *>(data())[index]);
  case kTenonF64:
    return static_cast<const double *>(data())[index];
  }
  return NAN;
}

void Tensor::set(int64_t index, double value) {
  switch (dtype->number) {
  case kTenonF32:
    static_cast<float *>(data())[index] = value;
    break;
  case kTenonF16:
    static_cast<_Float16 *>(data())[index] = value;
    break;
  case kTenonBF16:
    static_cast<uint16_t *>(data())[index] = toBFloat16(value);
    break;
  case kTenonF64:
    static_cast<double *>(data())[index] = value;
    break;
  }
}
