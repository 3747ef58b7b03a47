//===- Check.cpp - Do these tensors fit the function? ---------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "Error.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

using namespace tenon::runtime;

namespace {

/// Which tensor a message is about.
struct Position {
  const char *kind; ///< "input" or "output"
  int32_t index;
  const TensorInfo *info;
};

class Checker {
public:
  Checker(const FunctionInfo &function, CheckScope scope)
      : function(function), scope(scope) {}

  TenonStatus checkCount(const char *kind, const std::vector<TensorInfo> &infos,
                         const void *tensors, int32_t count);
  TenonStatus checkTensor(const Position &position, const DLTensor *tensor);

  DLDevice device{kDLCPU, 0};

private:
  TenonStatus checkDevice(const Position &position, const DLTensor &tensor);
  TenonStatus checkDType(const Position &position, const DLTensor &tensor);
  TenonStatus checkShape(const Position &position, const DLTensor &tensor);
  TenonStatus checkSymbol(const Position &position, int32_t dimension,
                          int64_t extent);
  TenonStatus checkStrides(const Position &position, const DLTensor &tensor);
  TenonStatus checkData(const Position &position, const DLTensor &tensor);

  /// Prefixes the message with function and tensor.
  [[gnu::format(printf, 3, 4)]]
  TenonStatus wrong(const Position &position, const char *format, ...);

  const FunctionInfo &function;
  const CheckScope scope;
  bool haveDevice = false;
  int64_t elements = 1; ///< of the tensor being checked

  /// Value of each dynamic name, and who gave it first.
  struct Binding {
    int64_t extent = -1;
    Position position;
    int32_t dimension;
  };
  Binding bindings[kMaxSymbols];
};

} // namespace

TenonStatus Checker::wrong(const Position &position, const char *format, ...) {
  char what[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof(what), format, arguments);
  va_end(arguments);
  return fail(TENON_INVALID_ARGUMENT, "%s: %s %d '%s': %s",
              function.name.c_str(), position.kind, position.index,
              position.info->name.c_str(), what);
}

TenonStatus Checker::checkCount(const char *kind,
                                const std::vector<TensorInfo> &infos,
                                const void *tensors, int32_t count) {
  bool matches = count >= 0 && static_cast<size_t>(count) == infos.size();
  if (matches && (tensors || count == 0))
    return TENON_OK;
  std::string names;
  for (const TensorInfo &info : infos)
    names += (names.empty() ? "" : ", ") + info.name;
  if (matches)
    return fail(TENON_INVALID_ARGUMENT,
                "%s: the array of %ss is null; %zu "
                "expected (%s)",
                function.name.c_str(), kind, infos.size(), names.c_str());
  return fail(TENON_INVALID_ARGUMENT, "%s: %zu %ss expected (%s), %d given",
              function.name.c_str(), infos.size(), kind, names.c_str(), count);
}

TenonStatus Checker::checkDevice(const Position &position,
                                 const DLTensor &tensor) {
  DLDevice given = tensor.device;
  if (!haveDevice) {
    if (given.device_type != kDLCPU && given.device_type != kDLCUDA)
      return wrong(position,
                   "device type %d; kDLCPU (1) and kDLCUDA (2) are supported",
                   static_cast<int>(given.device_type));
    device = given;
    haveDevice = true;
    return TENON_OK;
  }
  // All of host memory is one device, whatever number a caller gives it.
  bool sameId =
      device.device_type == kDLCPU || given.device_id == device.device_id;
  if (given.device_type == device.device_type && sameId)
    return TENON_OK;
  return wrong(position,
               "on device (%d, %d), but the tensors before it are on (%d, %d); "
               "all tensors of a call live on one device (type 1 is the CPU, "
               "2 is CUDA)",
               static_cast<int>(given.device_type), given.device_id,
               static_cast<int>(device.device_type), device.device_id);
}

static std::string dtypeText(DLDataType dtype) {
  static const char *const names[] = {"int",    "uint",    "float", "opaque",
                                      "bfloat", "complex", "bool"};
  std::string text = dtype.code < std::size(names)
                         ? names[dtype.code]
                         : "code" + std::to_string(dtype.code) + "_";
  text += std::to_string(dtype.bits);
  if (dtype.lanes != 1)
    text += "x" + std::to_string(dtype.lanes);
  return text;
}

TenonStatus Checker::checkDType(const Position &position,
                                const DLTensor &tensor) {
  const TenonDataType &expected = getTenonDataType(position.info->dtype);
  DLDataType given = tensor.dtype;
  if (given.code == expected.dlpackCode && given.bits == 8 * expected.bytes &&
      given.lanes == 1)
    return TENON_OK;
  return wrong(position, "%s expected, %s given", expected.name,
               dtypeText(given).c_str());
}

static std::string shapeText(const DLTensor &tensor) {
  std::string text = "[";
  for (int i = 0; i < tensor.ndim; ++i)
    text += (i ? ", " : "") + std::to_string(tensor.shape[i]);
  return text + "]";
}

TenonStatus Checker::checkSymbol(const Position &position, int32_t dimension,
                                 int64_t extent) {
  int32_t symbol = position.info->shape[dimension].symbol;
  Binding &binding = bindings[symbol];
  if (binding.extent < 0) {
    binding = {extent, position, dimension};
    return TENON_OK;
  }
  if (binding.extent == extent)
    return TENON_OK;
  return wrong(position,
               "dimension %d is '%s' and has extent %" PRId64
               ", but dimension %d of %s '%s' made it %" PRId64,
               dimension, function.symbols[symbol].c_str(), extent,
               binding.dimension, binding.position.kind,
               binding.position.info->name.c_str(), binding.extent);
}

TenonStatus Checker::checkShape(const Position &position,
                                const DLTensor &tensor) {
  const auto &shape = position.info->shape;
  bool matches =
      tensor.ndim >= 0 && static_cast<size_t>(tensor.ndim) == shape.size();
  if (matches && tensor.ndim && !tensor.shape)
    return wrong(position, "its DLTensor has a null shape");
  elements = 1;
  for (int32_t i = 0; matches && i < tensor.ndim; ++i) {
    int64_t extent = tensor.shape[i];
    bool isDynamic = shape[i].symbol >= 0;
    matches = isDynamic ? extent >= 0 : extent == shape[i].extent;
    if (matches && isDynamic)
      if (TenonStatus status = checkSymbol(position, i, extent))
        return status;
    if (__builtin_mul_overflow(elements, extent, &elements))
      return wrong(position, "shape %s is too large",
                   ::shapeText(tensor).c_str());
  }
  if (matches)
    return TENON_OK;
  return wrong(position, "shape %s expected, %s given",
               tenon::runtime::shapeText(function, *position.info).c_str(),
               tensor.shape ? ::shapeText(tensor).c_str() : "none");
}

TenonStatus Checker::checkStrides(const Position &position,
                                  const DLTensor &tensor) {
  if (!tensor.strides || elements == 0)
    return TENON_OK;
  int64_t expected = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    // Nothing is ever multiplied by the stride of an extent of 1.
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected)
      return wrong(position,
                   "not contiguous: dimension %d of shape %s has stride "
                   "%" PRId64 ", %" PRId64
                   " expected; pass a contiguous row-major copy",
                   i, ::shapeText(tensor).c_str(), tensor.strides[i], expected);
    expected *= tensor.shape[i];
  }
  return TENON_OK;
}

TenonStatus Checker::checkData(const Position &position,
                               const DLTensor &tensor) {
  if (elements == 0)
    return TENON_OK;
  if (!tensor.data)
    return wrong(position, "data is null, but shape %s has elements",
                 ::shapeText(tensor).c_str());
  uint64_t address =
      reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
  const TenonDataType &type = getTenonDataType(position.info->dtype);
  if (address % type.bytes == 0)
    return TENON_OK;
  return wrong(position,
               "data + byte_offset is 0x%" PRIx64 ", which is not aligned to "
               "the %" PRId64 " bytes of a %s",
               address, type.bytes, type.name);
}

TenonStatus Checker::checkTensor(const Position &position,
                                 const DLTensor *tensor) {
  if (!tensor)
    return wrong(position, "null DLTensor");
  if (TenonStatus status = checkDevice(position, *tensor))
    return status;
  if (TenonStatus status = checkDType(position, *tensor))
    return status;
  if (TenonStatus status = checkShape(position, *tensor))
    return status;
  if (scope == CheckScope::Sizes)
    return TENON_OK;
  if (TenonStatus status = checkStrides(position, *tensor))
    return status;
  return checkData(position, *tensor);
}

TenonStatus tenon::runtime::checkTensors(const FunctionInfo &function,
                                         const CallTensors &tensors,
                                         CheckScope scope, DLDevice &device) {
  Checker checker(function, scope);
  if (TenonStatus status = checker.checkCount(
          "input", function.inputs, tensors.inputs, tensors.numInputs))
    return status;
  if (scope == CheckScope::All)
    if (TenonStatus status = checker.checkCount(
            "output", function.outputs, tensors.outputs, tensors.numOutputs))
      return status;
  for (int32_t i = 0; i < tensors.numInputs; ++i)
    if (TenonStatus status = checker.checkTensor(
            {"input", i, &function.inputs[i]}, tensors.inputs[i]))
      return status;
  if (scope == CheckScope::All)
    for (int32_t i = 0; i < tensors.numOutputs; ++i)
      if (TenonStatus status = checker.checkTensor(
              {"output", i, &function.outputs[i]}, tensors.outputs[i]))
        return status;
  device = checker.device;
  return TENON_OK;
}

TenonStatus tenon::runtime::checkWorkspace(const FunctionInfo &function,
                                           int64_t needed,
                                           const void *workspace,
                                           uint64_t bytes, const char *what,
                                           const char *sizes) {
  const char *name = function.name.c_str();
  if (needed <= 0)
    return TENON_OK;
  if (bytes < static_cast<uint64_t>(needed))
    return fail(TENON_INVALID_ARGUMENT,
                "%s: a %s of %" PRId64 " bytes is needed, %" PRIu64
                " given; ask %s with these shapes",
                name, what, needed, bytes, sizes);
  if (!workspace)
    return fail(TENON_INVALID_ARGUMENT,
                "%s: the %s is null, but %" PRId64 " bytes of it are needed",
                name, what, needed);
  if (reinterpret_cast<uintptr_t>(workspace) % 256)
    return fail(TENON_INVALID_ARGUMENT,
                "%s: the %s at %p is not aligned to 256 bytes", name, what,
                workspace);
  return TENON_OK;
}
