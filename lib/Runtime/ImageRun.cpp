//===- ImageRun.cpp - Calls by image and number ---------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the C functions in a model's generated header call. Models are made on
// first need and live to the end of the process.
//
//===----------------------------------------------------------------------===//

#include "Error.h"
#include "Model.h"

#include <dlfcn.h>
#include <shared_mutex>
#include <unordered_map>

using namespace tenon::runtime;

namespace {

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<const TenonModelImage *, std::unique_ptr<TenonModel>>
      models;
};

} // namespace

/// Never destroyed: a thread may still call while the process exits.
static Registry &registry() {
  static auto *instance = new Registry;
  return *instance;
}

/// Keeps the library that holds `image` loaded for good: another model loaded
/// at its address would be taken for it.
static void pin(const TenonModelImage *image) {
  Dl_info info;
  if (dladdr(image, &info) && info.dli_fname)
    (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static TenonStatus makeModel(const TenonModelImage &image, TenonModel *&model) {
  Registry &known = registry();
  std::lock_guard<std::shared_mutex> lock(known.mutex);
  std::unique_ptr<TenonModel> &slot = known.models[&image];
  if (!slot) {
    if (TenonStatus status = TenonModel::create(image, slot))
      return status;
    pin(&image);
  }
  model = slot.get();
  return TENON_OK;
}

/// Null where no function of the image was called yet.
static TenonModel *findModel(const TenonModelImage *image) {
  Registry &known = registry();
  std::shared_lock<std::shared_mutex> lock(known.mutex);
  auto found = known.models.find(image);
  return found == known.models.end() ? nullptr : found->second.get();
}

static TenonStatus findFunction(const TenonModelImage *image, int32_t number,
                                TenonFunction *&function) {
  if (!image)
    return fail(TENON_INVALID_ARGUMENT, "null model image");
  TenonModel *model = findModel(image);
  if (!model)
    if (TenonStatus status = makeModel(*image, model))
      return status;
  if (number < 0 || static_cast<size_t>(number) >= model->functions.size())
    return fail(TENON_NOT_FOUND,
                "model '%s' has no function number %d; it has %zu (is its "
                "header older than the model?)",
                model->manifest.name.c_str(), number, model->functions.size());
  function = &model->functions[number];
  return TENON_OK;
}

TenonStatus tenonImageRun(const TenonModelImage *image, int32_t function,
                          const DLTensor *const *inputs, int32_t numInputs,
                          DLTensor *const *outputs, int32_t numOutputs,
                          void *workspace, uint64_t workspaceBytes,
                          void *stream) {
  TenonFunction *found = nullptr;
  if (TenonStatus status =
          guarded([&] { return findFunction(image, function, found); }))
    return status;
  return tenonFunctionRun(found, inputs, numInputs, outputs, numOutputs,
                          workspace, workspaceBytes, stream);
}

TenonStatus tenonImageWorkspaceSize(const TenonModelImage *image,
                                    int32_t function,
                                    const DLTensor *const *inputs,
                                    int32_t numInputs, size_t *bytes) {
  TenonFunction *found = nullptr;
  if (TenonStatus status =
          guarded([&] { return findFunction(image, function, found); }))
    return status;
  return tenonFunctionWorkspaceSize(found, inputs, numInputs, bytes);
}

TenonStatus tenonImagePrepare(const TenonModelImage *image, int32_t function,
                              const DLTensor *const *parameters,
                              int32_t numParameters, void *prepared,
                              uint64_t preparedBytes, void *workspace,
                              uint64_t workspaceBytes, void *stream) {
  return guarded([&] {
    TenonFunction *found = nullptr;
    TenonStatus status = findFunction(image, function, found);
    if (status || !found->division)
      return status;
    return prepareDivided(*found, parameters, numParameters,
                          {prepared, preparedBytes}, workspace, workspaceBytes,
                          stream);
  });
}

TenonStatus tenonImagePrepareWorkspaceSize(const TenonModelImage *image,
                                           int32_t function,
                                           const DLTensor *const *parameters,
                                           int32_t numParameters,
                                           size_t *preparedBytes,
                                           size_t *bytes) {
  return guarded([&] {
    if (!preparedBytes || !bytes)
      return fail(TENON_INVALID_ARGUMENT, "sizes of a prepare function: null");
    *preparedBytes = *bytes = 0;
    TenonFunction *found = nullptr;
    TenonStatus status = findFunction(image, function, found);
    if (status || !found->division)
      return status;
    return prepareSizes(*found, parameters, numParameters, *preparedBytes,
                        *bytes);
  });
}

TenonStatus tenonImageRunPrepared(const TenonModelImage *image,
                                  int32_t function,
                                  const DLTensor *const *inputs,
                                  int32_t numInputs, DLTensor *const *outputs,
                                  int32_t numOutputs, const void *prepared,
                                  uint64_t preparedBytes, void *workspace,
                                  uint64_t workspaceBytes, void *stream) {
  return guarded([&] {
    TenonFunction *found = nullptr;
    if (TenonStatus status = findFunction(image, function, found))
      return status;
    if (!found->division)
      return tenonFunctionRun(found, inputs, numInputs, outputs, numOutputs,
                              workspace, workspaceBytes, stream);
    return runPrepared(*found, {inputs, numInputs, outputs, numOutputs},
                       {const_cast<void *>(prepared), preparedBytes}, workspace,
                       workspaceBytes, stream);
  });
}

TenonStatus tenonImageRunPreparedWorkspaceSize(const TenonModelImage *image,
                                               int32_t function,
                                               const DLTensor *const *inputs,
                                               int32_t numInputs,
                                               size_t *bytes) {
  return guarded([&] {
    TenonFunction *found = nullptr;
    if (TenonStatus status = findFunction(image, function, found))
      return status;
    if (!found->division)
      return tenonFunctionWorkspaceSize(found, inputs, numInputs, bytes);
    return runPreparedWorkspaceSize(*found, inputs, numInputs, bytes);
  });
}

TenonStatus tenonImageCountRowsOutside(const TenonModelImage *image,
                                       DLDevice device, uint64_t *count) {
  return guarded([&] {
    if (!image || !count)
      return fail(TENON_INVALID_ARGUMENT, "tenonImageCountRowsOutside: null %s",
                  image ? "count" : "image");
    *count = 0;
    const TenonModel *model = findModel(image);
    return model ? model->countRowsOutside(device, *count) : TENON_OK;
  });
}
