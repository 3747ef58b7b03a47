//===- PackedTensors.cpp - Parameters inside a model ----------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedTensors.h"

#include "Call.h"
#include "Descriptors.h"
#include "Device.h"
#include "Error.h"

#include <cinttypes>
#include <cstdlib>

using namespace tenon::runtime;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TenonStatus PackedTensors::allocate(int64_t bytes, const char *what,
                                    void *&memory) {
  memory = nullptr;
  if (bytes == 0)
    return TENON_OK;
  if (!device) {
    memory = aligned_alloc(256, (static_cast<size_t>(bytes) + 255) & ~255ull);
    return memory ? TENON_OK
                  : fail(TENON_DEVICE_ERROR,
                         "out of host memory: %" PRId64 " bytes for %s", bytes,
                         what);
  }
  CUdeviceptr pointer = 0;
  CUresult result =
      device->driver.cuMemAlloc(&pointer, static_cast<size_t>(bytes));
  if (result) {
    std::string request =
        "allocating " + std::to_string(bytes) + " bytes for " + what;
    return device->failCuda(result, request.c_str());
  }
  memory = reinterpret_cast<void *>(pointer);
  return TENON_OK;
}

void PackedTensors::release(void *&memory) {
  if (memory && device)
    device->driver.cuMemFree(reinterpret_cast<CUdeviceptr>(memory));
  else
    free(memory);
  memory = nullptr;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Finds every tensor a place. The CPU reads parameters where they are, in the
/// image; on a GPU they are copied.
TenonStatus PackedTensors::place(const Manifest &manifest,
                                 const TenonModelImage &image) {
  const char *values = static_cast<const char *>(image.parameters);
  for (size_t i = 0; i < manifest.packed.size(); ++i) {
    const PackedTensor &tensor = manifest.packed[i];
    if (!device && tensor.offset >= 0) {
      pointers[i] = const_cast<char *>(values + tensor.offset);
      continue;
    }
    std::string what = "'" + tensor.name + "'";
    if (TenonStatus status = allocate(tensor.bytes, what.c_str(), owned[i]))
      return status;
    pointers[i] = owned[i];
    if (tensor.offset < 0 || !tensor.bytes)
      continue;
    if (CUresult result = device->driver.cuMemcpyHtoDAsync(
            reinterpret_cast<CUdeviceptr>(owned[i]), values + tensor.offset,
            static_cast<size_t>(tensor.bytes), /*stream=*/nullptr))
      return device->failCuda(result, ("copying " + what).c_str());
  }
  return TENON_OK;
}

/// Waits for copies, which read the image, and for prepare functions; calls may
/// come on streams that do not.
TenonStatus PackedTensors::synchronise() {
  CUresult result =
      device ? device->driver.cuStreamSynchronize(nullptr) : CUDA_SUCCESS;
  return result ? device->failCuda(result, "loading the parameters") : TENON_OK;
}

TenonStatus PackedTensors::prepare(const PrepareInfo &info,
                                   const TenonFunctionImage &code,
                                   const Manifest &manifest) {
  TenonEntry entry = device ? code.cudaEntry : code.cpuEntry;
  TenonWorkspaceEntry size = device ? code.cudaWorkspace : code.cpuWorkspace;
  Descriptors descriptors(info.function);
  for (const auto *numbers : {&info.inputs, &info.outputs})
    for (int32_t number : *numbers)
      descriptors.add(manifest.packed[number].shape, pointers[number]);
  void *workspace = nullptr;
  if (TenonStatus status = allocate(size ? size(descriptors.pointers) : 0,
                                    "the workspace of preparing", workspace))
    return status;
  TenonCall call{info.function, device, /*stream=*/nullptr};
  entry(&call, descriptors.pointers, workspace);
  TenonStatus status = synchronise();
  release(workspace);
  return call.status ? call.status : status;
}

/// Gives back what prepare functions alone have read.
void PackedTensors::releaseUnused(const Manifest &manifest) {
  std::vector<bool> isUsed(pointers.size());
  for (const FunctionInfo &function : manifest.functions)
    for (int32_t number : function.packed)
      if (number >= 0)
        isUsed[number] = true;
  for (size_t i = 0; i < pointers.size(); ++i)
    if (!isUsed[i]) {
      release(owned[i]);
      pointers[i] = nullptr;
    }
}

/// Whether the model has any code for the device; where it has none, calls say
/// so.
static bool hasCode(const TenonModelImage &image, bool isCpu) {
  for (uint32_t i = 0; i < image.numFunctions; ++i)
    if (isCpu ? image.functions[i].cpuEntry : image.functions[i].cudaEntry)
      return true;
  return false;
}

TenonStatus PackedTensors::load(const Manifest &manifest,
                                const TenonModelImage &image,
                                DeviceState *state) {
  device = state;
  pointers.assign(manifest.packed.size(), nullptr);
  owned.assign(manifest.packed.size(), nullptr);
  if (manifest.packed.empty() || !hasCode(image, !device))
    return TENON_OK;
  if (TenonStatus status = place(manifest, image))
    return status;
  const TenonFunctionImage *code = image.functions + manifest.functions.size();
  for (const PrepareInfo &info : manifest.prepares)
    if (TenonStatus status = prepare(info, *code++, manifest))
      return status;
  if (TenonStatus status = synchronise())
    return status;
  releaseUnused(manifest);
  return TENON_OK;
}

void PackedTensors::unload() {
  for (void *&memory : owned)
    release(memory);
}
