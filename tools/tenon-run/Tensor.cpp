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

#include <algorithm>
#include <cmath>

using namespace tenon::run;

static int64_t countElements(const std::string &name, TenonDType dtype,
                             const std::vector<int64_t> &shape) {
  int64_t ofElement = getTenonDataType(dtype).bytes, bytes = ofElement;
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      throw Error("tensor '" + name +
                  "' would have more than 2^63 bytes; give smaller extents");
  return bytes / ofElement;
}

Tensor::Tensor(Device &device, std::string name, TenonDType dtype,
               std::vector<int64_t> shape)
    : name(std::move(name)), dtype(dtype), shape(std::move(shape)),
      device(&device), elements(countElements(this->name, dtype, this->shape)),
      memory(device.make(bytes(), "tensor '" + this->name + "'")) {}

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
  auto bits = static_cast<uint8_t>(8 * type().bytes);
  // DLPack has no const; the runtime writes no shape.
  return {data(),
          device->id(),
          static_cast<int32_t>(shape.size()),
          {type().dlpackCode, bits, 1},
          const_cast<int64_t *>(shape.data()),
          nullptr,
          0};
}

std::string Tensor::typeText() const {
  std::vector<std::string> extents;
  for (int64_t extent : shape)
    extents.push_back(std::to_string(extent));
  return std::string(type().name) + " [" + join(extents) + "]";
}

namespace {
/// A float of 8 bits, whose finite magnitudes are in the order of their bits.
template <int Digits, int Bias, uint8_t Last, uint8_t Limit> struct Float8 {
  uint8_t bits;

  operator double() const {
    int magnitude = bits & 0x7f, mantissa = magnitude & ((1 << Digits) - 1);
    int exponent = magnitude >> Digits;
    double value = magnitude > Last && magnitude == Limit ? INFINITY
                   : magnitude > Last                     ? NAN
                   : exponent == 0 ? std::ldexp(mantissa, 1 - Bias - Digits)
                                   : std::ldexp(mantissa + (1 << Digits),
                                                exponent - Bias - Digits);
    return bits & 0x80 ? -value : value;
  }

  /// To nearest, ties to even; what is too large becomes Limit.
  explicit Float8(double value) {
    bits = 0x7f;
    if (!std::isnan(value)) {
      int exponent = std::clamp(std::ilogb(value), 1 - Bias, Bias + 1);
      double digits = std::nearbyint(
          std::ldexp(std::min(std::abs(value), 1e9), Digits - exponent));
      digits += std::ldexp(exponent + Bias - 1, Digits);
      bits = static_cast<uint8_t>(std::min<double>(digits, Limit));
    }
    bits |= std::signbit(value) ? 0x80 : 0;
  }
};
using Float8E4M3FN = Float8<3, 7, 0x7e, 0x7e>; ///< has no infinity
using Float8E5M2 = Float8<2, 15, 0x7b, 0x7c>;
} // namespace

/// Calls `visit` with the elements, as an array of their C type.
template <typename Visit>
static auto visitElements(const Tensor &tensor, Visit visit) {
  switch (tensor.dtype) {
  case kTenonF16:
    return visit(static_cast<_Float16 *>(tensor.data()));
  case kTenonBF16:
    return visit(static_cast<__bf16 *>(tensor.data()));
  case kTenonF8_E4M3:
    return visit(static_cast<Float8E4M3FN *>(tensor.data()));
  case kTenonF8_E5M2:
    return visit(static_cast<Float8E5M2 *>(tensor.data()));
  case kTenonF64:
    return visit(static_cast<double *>(tensor.data()));
  case kTenonF32:
    break;
  }
  return visit(static_cast<float *>(tensor.data()));
}

double Tensor::get(int64_t index) const {
  return visitElements(*this, [&](const auto *elements) {
    return static_cast<double>(elements[index]);
  });
}

void Tensor::set(int64_t index, double value) {
  visitElements(*this, [&]<typename T>(T *elements) {
    if constexpr (std::is_same_v<T, __bf16>)
      elements[index] = static_cast<__bf16>(static_cast<float>(value));
    else
      elements[index] = static_cast<T>(value);
  });
}
