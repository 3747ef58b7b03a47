//===- Model.cpp - A loaded model -----------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "CpuLevel.h"
#include "Error.h"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fstream>
#include <unistd.h>

using namespace tenon::runtime;

//===----------------------------------------------------------------------===//
// TenonModel
//===----------------------------------------------------------------------===//

static TenonStatus checkImage(const TenonModelImage &image) {
  // The version comes first: nothing after it can be trusted when it differs.
  if (image.version != kTenonImageVersion)
    return fail(TENON_UNSUPPORTED,
                "the model has format version %u, this runtime (%s) reads "
                "version %d; %s",
                image.version, tenonRuntimeVersion(), kTenonImageVersion,
                image.version > kTenonImageVersion ? "install a newer Tenon"
                                                   : "compile the model again");
  if (!image.manifest || (image.numFunctions && !image.functions))
    return fail(TENON_INVALID_ARGUMENT,
                "the model's image has a null manifest or function table");
  return TENON_OK;
}

TenonStatus TenonModel::create(const TenonModelImage &image,
                               std::unique_ptr<TenonModel> &model) {
  if (TenonStatus status = checkImage(image))
    return status;
  auto made = std::make_unique<TenonModel>();
  made->image = &image;
  Manifest &manifest = made->manifest;
  if (TenonStatus status = parseManifest(image.manifest, manifest))
    return status;
  size_t numFunctions = manifest.functions.size() + manifest.prepares.size();
  if (numFunctions != image.numFunctions)
    return fail(TENON_INVALID_ARGUMENT,
                "model '%s': its manifest lists %zu functions, its image has "
                "%u; compile the model again",
                manifest.name.c_str(), numFunctions, image.numFunctions);
  if (!manifest.kernels.empty() && !image.fatbin)
    return fail(TENON_INVALID_ARGUMENT,
                "model '%s': its manifest lists %zu kernels, its image has no "
                "GPU code; compile the model again",
                manifest.name.c_str(), manifest.kernels.size());
  for (const PackedTensor &tensor : manifest.packed)
    if (tensor.offset >= 0 &&
        static_cast<uint64_t>(tensor.offset) + tensor.bytes >
            image.parameterBytes)
      return fail(TENON_INVALID_ARGUMENT,
                  "model '%s': its manifest lists parameter '%s', its image "
                  "lacks the values; compile the model again",
                  manifest.name.c_str(), tensor.name.c_str());
  // They point to each other.
  made->functions.reserve(manifest.functions.size() + manifest.entries.size());
  for (size_t i = 0; i < manifest.functions.size(); ++i)
    made->functions.push_back(
        {made.get(), &image.functions[i], &manifest.functions[i]});
  for (const EntryInfo &entry : manifest.entries)
    if (!entry.signature.name.empty())
      made->functions.push_back({made.get(), nullptr, &entry.signature,
                                 divide(entry, made->functions)});
  made->cpuProblem = missingCpuLevel(manifest.cpu);
  model = std::move(made);
  return TENON_OK;
}

TenonModel::~TenonModel() {
  for (auto &state : devices)
    delete state.load();
  cpuPacked.unload();
  if (library)
    dlclose(library);
}

TenonStatus TenonModel::createDevice(int ordinal, DeviceState *&state) {
  std::lock_guard<std::mutex> lock(mutex);
  state = devices[ordinal].load(std::memory_order_relaxed);
  if (state)
    return TENON_OK;
  std::unique_ptr<DeviceState> made;
  if (TenonStatus status = DeviceState::create(manifest, *image, ordinal, made))
    return status;
  state = made.release();
  devices[ordinal].store(state, std::memory_order_release);
  return TENON_OK;
}

TenonStatus TenonModel::device(int ordinal, DeviceState *&state) {
  if (ordinal < 0 || ordinal >= kMaxDevices)
    return fail(TENON_NOT_FOUND, "no GPU %d: ordinals are 0 to %d", ordinal,
                kMaxDevices - 1);
  state = devices[ordinal].load(std::memory_order_acquire);
  return state ? TENON_OK : createDevice(ordinal, state);
}

TenonStatus TenonModel::packed(DLDevice device, const PackedTensors *&tensors) {
  if (device.device_type == kDLCUDA) {
    DeviceState *state;
    if (TenonStatus status = this->device(device.device_id, state))
      return status;
    tensors = &state->packed;
    return TENON_OK;
  }
  tensors = &cpuPacked;
  if (isCpuPacked.load(std::memory_order_acquire))
    return TENON_OK;
  std::lock_guard<std::mutex> lock(mutex);
  if (isCpuPacked.load(std::memory_order_relaxed))
    return TENON_OK;
  if (TenonStatus status = cpuPacked.load(manifest, *image, nullptr)) {
    cpuPacked.unload();
    return status;
  }
  isCpuPacked.store(true, std::memory_order_release);
  return TENON_OK;
}

//===----------------------------------------------------------------------===//
// C interface
//===----------------------------------------------------------------------===//

/// dlopen looks for a bare file name on the library path alone; people mean the
/// file beside them.
static void *openModelFile(const char *path) {
  std::string local = std::string("./") + path;
  if (!strchr(path, '/') && access(local.c_str(), F_OK) == 0)
    path = local.c_str();
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/// Whether a file that is `size` bytes long lacks its end, which dlopen would
/// meet as SIGBUS. Section headers come last in what tenon-compile writes.
static bool isCutShort(const Elf64_Ehdr &header, uint64_t size) {
  return header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize > size;
}

static const char *architectureOf(const Elf64_Ehdr &header) {
  return header.e_machine == EM_X86_64    ? "x86-64"
         : header.e_machine == EM_AARCH64 ? "aarch64"
                                          : "another architecture";
}

#if defined(__aarch64__)
static constexpr const char *kArchitecture = "aarch64";
#else
static constexpr const char *kArchitecture = "x86-64";
#endif

/// Finds what dlopen would not say, or not survive.
static TenonStatus checkFile(const char *path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  auto size = static_cast<uint64_t>(file.tellg());
  Elf64_Ehdr header;
  file.seekg(0);
  if (!file.read(reinterpret_cast<char *>(&header), sizeof(header)) ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return TENON_OK; // too short, unreadable or no library: dlopen says so
  if (isCutShort(header, size))
    return fail(
        TENON_NOT_FOUND,
        "cannot open model '%s': the file is cut short; compile or copy "
        "it again",
        path);
  if (strcmp(architectureOf(header), kArchitecture) != 0)
    return fail(TENON_UNSUPPORTED,
                "cannot open model '%s': it was compiled for %s, and this "
                "machine is %s; compile it with tenon-compile --host=%s",
                path, architectureOf(header), kArchitecture, kArchitecture);
  return TENON_OK;
}

static TenonStatus openModel(const char *path, TenonModel **model) {
  if (!path || !model)
    return fail(TENON_INVALID_ARGUMENT, "tenonModelOpen: null %s",
                path ? "model" : "path");
  *model = nullptr;
  if (TenonStatus status = checkFile(path))
    return status;
  void *library = openModelFile(path);
  if (!library)
    return fail(TENON_NOT_FOUND, "cannot open model '%s': %s", path, dlerror());
  std::unique_ptr<TenonModel> made;
  TenonStatus status;
  if (void *image = dlsym(library, "tenon_model_image"))
    status =
        TenonModel::create(*static_cast<const TenonModelImage *>(image), made);
  else
    status = fail(TENON_NOT_FOUND,
                  "'%s' is not a compiled model: it has no symbol "
                  "tenon_model_image; make one with tenon-compile -o",
                  path);
  if (status) {
    dlclose(library);
    return status;
  }
  made->library = library;
  *model = made.release();
  return TENON_OK;
}

TenonStatus tenonModelOpen(const char *path, TenonModel **model) {
  return guarded([&] { return openModel(path, model); });
}

TenonStatus tenonModelFromImage(const TenonModelImage *image,
                                TenonModel **model) {
  return guarded([&] {
    if (!image || !model)
      return fail(TENON_INVALID_ARGUMENT, "tenonModelFromImage: null %s",
                  image ? "model" : "image");
    *model = nullptr;
    std::unique_ptr<TenonModel> made;
    TenonStatus status = TenonModel::create(*image, made);
    *model = made.release();
    return status;
  });
}

void tenonModelClose(TenonModel *model) { delete model; }

const char *tenonModelManifest(const TenonModel *model) {
  return model ? model->image->manifest : "";
}

static TenonStatus loadCpu(TenonModel &model) {
  if (!model.cpuProblem.empty())
    return fail(TENON_UNSUPPORTED, "model '%s': %s",
                model.manifest.name.c_str(), model.cpuProblem.c_str());
  const PackedTensors *tensors;
  return model.packed({kDLCPU, 0}, tensors);
}

TenonStatus tenonModelLoad(TenonModel *model, DLDevice device) {
  return guarded([&] {
    if (!model)
      return fail(TENON_INVALID_ARGUMENT, "tenonModelLoad: null model");
    if (device.device_type == kDLCPU)
      return loadCpu(*model);
    if (device.device_type != kDLCUDA)
      return failDeviceType("tenonModelLoad", device);
    DeviceState *state;
    return model->device(device.device_id, state);
  });
}

TenonStatus tenonModelFunction(TenonModel *model, const char *name,
                               TenonFunction **function) {
  return guarded([&] {
    if (!model || !name || !function)
      return fail(TENON_INVALID_ARGUMENT, "tenonModelFunction: null %s",
                  !model  ? "model"
                  : !name ? "name"
                          : "function");
    *function = nullptr;
    std::string names;
    for (TenonFunction &candidate : model->functions) {
      if (candidate.info->name == name) {
        *function = &candidate;
        return TENON_OK;
      }
      names += (names.empty() ? "" : ", ") + candidate.info->name;
    }
    return fail(TENON_NOT_FOUND, "model '%s' has no function '%s'; it has: %s",
                model->manifest.name.c_str(), name, names.c_str());
  });
}
