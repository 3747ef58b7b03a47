//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled model loaded into this process, without a file.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PIPELINES_JIT_H
#define TENON_PIPELINES_JIT_H

#include "tenon-c/Model.h"
#include "tenon/Pipelines/Compiler.h"

#include "llvm/Support/Error.h"

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace mlir::tenon {

/// Owns a model's code and the runtime's handle to it. The program must link
/// libtenon_runtime, whose functions the code calls.
class JitModel {
public:
  /// Makes machine code of `model` for this CPU and loads it.
  static llvm::Expected<std::unique_ptr<JitModel>> create(CompiledModel model);
  ~JitModel();

  /// For the functions of tenon-c/Model.h; valid as long as this object.
  TenonModel *get() const { return handle; }

private:
  explicit JitModel(std::unique_ptr<llvm::orc::LLJIT> jit);

  std::unique_ptr<llvm::orc::LLJIT> jit;
  TenonModel *handle = nullptr;
};

} // namespace mlir::tenon

#endif // TENON_PIPELINES_JIT_H
