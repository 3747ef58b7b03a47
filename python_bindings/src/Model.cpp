//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loaded models and their functions.
//
//===----------------------------------------------------------------------===//

#include "Native.h"

#include <nanobind/stl/string.h>

using namespace tenon::python;
namespace nb = nanobind;
using namespace nb::literals;

namespace {

/// A function of a model, with its entry of the manifest.
struct NativeFunction {
  ModelPtr model;
  TenonFunction *function;
  nb::dict description;

  nb::object launcher(int32_t deviceType, int32_t deviceId) const {
    return makeLauncher(model, function, description,
                        {static_cast<DLDeviceType>(deviceType), deviceId});
  }
};

class Model {
public:
  explicit Model(const std::string &path) {
    TenonModel *opened = nullptr;
    TenonStatus status;
    {
      nb::gil_scoped_release unlocked;
      status = tenonModelOpen(path.c_str(), &opened);
    }
    check(status);
    model = ModelPtr(opened, tenonModelClose);
  }

  std::string manifest() const { return tenonModelManifest(model.get()); }

  void load(int32_t deviceType, int32_t deviceId) const {
    TenonStatus status;
    {
      nb::gil_scoped_release unlocked;
      status = tenonModelLoad(
          model.get(), {static_cast<DLDeviceType>(deviceType), deviceId});
    }
    check(status);
  }

  uint64_t rowsOutside(int32_t deviceType, int32_t deviceId) const {
    uint64_t count = 0;
    TenonStatus status;
    {
      nb::gil_scoped_release unlocked;
      status = tenonModelCountRowsOutside(
          model.get(), {static_cast<DLDeviceType>(deviceType), deviceId},
          &count);
    }
    check(status);
    return count;
  }

  NativeFunction function(const std::string &name) const {
    TenonFunction *function;
    check(tenonModelFunction(model.get(), name.c_str(), &function));
    nb::object manifest =
        nb::module_::import_("json").attr("loads")(this->manifest());
    for (nb::handle description : manifest["functions"])
      if (nb::cast<std::string>(description["name"]) == name)
        return {model, function, nb::cast<nb::dict>(description)};
    raise(TENON_NOT_FOUND, (name + " is not in the manifest").c_str());
  }

private:
  ModelPtr model;
};

} // namespace

void tenon::python::bindModel(nb::module_ &module) {
  nb::class_<Model>(module, "Model", "A compiled model, opened.")
      .def(nb::init<const std::string &>(), "path"_a,
           "Opens the shared object at `path`.")
      .def_prop_ro("manifest", &Model::manifest, "The manifest, JSON text.")
      .def("load", &Model::load, "device_type"_a, "device_id"_a,
           "Loads kernels on a device, so that calls there may be captured.")
      .def("rows_outside", &Model::rowsOutside, "device_type"_a, "device_id"_a,
           "Rows for which the slower path ran on a device so far; waits for "
           "it.")
      .def("function", &Model::function, "name"_a, "Finds a function by name.");
  nb::class_<NativeFunction>(module, "NativeFunction", "A function of a model.")
      .def("launcher", &NativeFunction::launcher, "device_type"_a,
           "device_id"_a,
           "Returns what calls the function with tensors on that device; "
           "DLPack's codes: 1 is the CPU, 2 is CUDA.");
}
