//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads a compiled model's code through ORC.
//
//===----------------------------------------------------------------------===//

#include "tenon/Pipelines/Jit.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Object/ObjectFile.h"

using namespace mlir;
using namespace mlir::tenon;
using llvm::Expected;

JitModel::JitModel(std::unique_ptr<llvm::orc::LLJIT> jit)
    : jit(std::move(jit)) {}

JitModel::~JitModel() { tenonModelClose(handle); }

Expected<std::unique_ptr<JitModel>> JitModel::create(CompiledModel model) {
  // The same object as ahead of time, so that both compute the same bits.
  auto object = emitObject(*model.module, model.description.cpu);
  if (failed(object))
    return llvm::createStringError(
        "this build of LLVM has no back end for the host's architecture");
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  if (llvm::Error error =
          (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
              StringRef(object->data(), object->size()))))
    return std::move(error);
  auto image = (*jit)->lookup("tenon_model_image");
  if (!image)
    return image.takeError();
  std::unique_ptr<JitModel> result(new JitModel(std::move(*jit)));
  if (tenonModelFromImage(image->toPtr<const TenonModelImage *>(),
                          &result->handle) != TENON_OK)
    return llvm::createStringError(tenonLastError());
  return std::move(result);
}
