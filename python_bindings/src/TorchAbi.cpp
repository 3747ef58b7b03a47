//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TorchAbi.h"

#include <dlfcn.h>
#include <optional>
#include <stdexcept>
#include <string>

using namespace tenon::python;

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

namespace {

/// A library that the process has loaded already.
class Loaded {
public:
  explicit Loaded(const char *name)
      : handle(dlopen(name, RTLD_NOLOAD | RTLD_LAZY)) {}

  /// Sets `function` to the symbol, or to null.
  template <typename Function>
  bool find(const char *symbol, Function &function) const {
    function =
        reinterpret_cast<Function>(handle ? dlsym(handle, symbol) : nullptr);
    return function;
  }

private:
  void *handle; // never closed: PyTorch stays loaded
};

} // namespace

static std::optional<TorchAbi> resolve() {
  Loaded torch("libtorch_cpu.so");
  TorchAbi abi;
  bool hasAll =
      torch.find("aoti_torch_library_init_impl", abi.initLibrary) &&
      torch.find("torch_library_impl", abi.implement) &&
      torch.find("torch_call_dispatcher", abi.callDispatcher) &&
      torch.find("torch_list_size", abi.listSize) &&
      torch.find("torch_list_get_item", abi.listItem) &&
      torch.find("torch_delete_list", abi.deleteList) &&
      torch.find("torch_string_length", abi.stringLength) &&
      torch.find("torch_string_c_str", abi.stringData) &&
      torch.find("torch_delete_string", abi.deleteString) &&
      torch.find("aoti_torch_get_data_ptr", abi.mutableData) &&
      torch.find("torch_get_const_data_ptr", abi.constData) &&
      torch.find("aoti_torch_get_numel", abi.numel) &&
      torch.find("aoti_torch_is_contiguous", abi.isContiguous) &&
      torch.find("aoti_torch_get_device_index", abi.deviceIndex) &&
      torch.find("aoti_torch_empty_strided", abi.emptyStrided) &&
      torch.find("aoti_torch_delete_tensor_object", abi.deleteTensor) &&
      torch.find("aoti_torch_dtype_uint8", abi.uint8) &&
      torch.find("aoti_torch_device_type_cpu", abi.cpu) &&
      torch.find("aoti_torch_device_type_cuda", abi.cuda);
  if (!hasAll)
    return std::nullopt;
  Loaded("libtorch_cuda.so")
      .find("aoti_torch_get_current_cuda_stream", abi.currentCudaStream);
  return abi;
}

const TorchAbi *TorchAbi::get() {
  static const std::optional<TorchAbi> abi = resolve();
  return abi ? &*abi : nullptr;
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

ListArgument::ListArgument(const TorchAbi &abi, StableIValue value)
    : abi(abi), handle(reinterpret_cast<TorchList>(value)) {
  abi.listSize(handle, &count);
  if (count > std::size(inlined))
    heap = std::make_unique<TorchTensor[]>(count);
  tensors = heap ? heap.get() : inlined;
  for (size_t i = 0; i < count; ++i) {
    StableIValue element = 0;
    abi.listItem(handle, i, &element);
    tensors[i] = reinterpret_cast<TorchTensor>(element);
  }
}

ListArgument::~ListArgument() {
  if (!isOwned)
    return;
  for (size_t i = 0; i < count; ++i)
    abi.deleteTensor(tensors[i]);
  abi.deleteList(handle);
}

//===----------------------------------------------------------------------===//
// Workspace
//===----------------------------------------------------------------------===//

static constexpr uint64_t kAlignment = 256;

Workspace::Workspace(const TorchAbi &abi, int32_t deviceIndex, size_t bytes)
    : abi(abi) {
  if (!bytes)
    return;
  bool isCpu = deviceIndex < 0;
  // PyTorch aligns what is on a GPU as much, and what is on the CPU less.
  int64_t size = static_cast<int64_t>(bytes + (isCpu ? kAlignment : 0));
  int64_t stride = 1;
  void *data = nullptr;
  if (abi.emptyStrided(1, &size, &stride, abi.uint8(),
                       isCpu ? abi.cpu() : abi.cuda(), deviceIndex, &tensor) ||
      abi.mutableData(tensor, &data))
    throw std::runtime_error("tenon::fused: PyTorch gives no workspace of " +
                             std::to_string(bytes) + " bytes");
  uint64_t address = reinterpret_cast<uint64_t>(data) + kAlignment - 1;
  aligned = reinterpret_cast<void *>(address / kAlignment * kAlignment);
}

Workspace::~Workspace() {
  if (tensor)
    abi.deleteTensor(tensor);
}
