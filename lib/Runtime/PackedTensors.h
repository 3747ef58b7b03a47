//===- PackedTensors.h - Parameters inside a model --------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model may bring its parameters: their values are in its image. On each
// device they are loaded once, and what depends on them alone is prepared once;
// calls then read them and never change them.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_PACKEDTENSORS_H
#define TENON_LIB_RUNTIME_PACKEDTENSORS_H

#include "Manifest.h"

namespace tenon::runtime {

class DeviceState;

/// The packed tensors of a model on one device.
class PackedTensors {
public:
  /// Loads and prepares them; not safe to call twice at once. `device` is null
  /// on the CPU, else its context is current. After a failure, `unload`.
  TenonStatus load(const Manifest &manifest, const TenonModelImage &image,
                   DeviceState *device);
  /// Gives the memory back; on a GPU its context is current.
  void unload();

  /// Where tensor number `number` of the manifest is; null if no call needs it.
  const void *data(int32_t number) const { return pointers[number]; }

private:
  TenonStatus place(const Manifest &manifest, const TenonModelImage &image);
  TenonStatus prepare(const PrepareInfo &info, const TenonFunctionImage &code,
                      const Manifest &manifest);
  TenonStatus synchronise();
  /// Memory of the device, aligned to 256 bytes; `what` is for the message.
  TenonStatus allocate(int64_t bytes, const char *what, void *&memory);
  void release(void *&memory);
  void releaseUnused(const Manifest &manifest);

  DeviceState *device = nullptr;
  std::vector<void *> pointers;
  std::vector<void *> owned; ///< null where a pointer is into the image
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_PACKEDTENSORS_H
