//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads files of named tensors in the safetensors format: eight bytes with the
// length of a JSON header, the header, the values.
// https://huggingface.co/docs/safetensors
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_HOST_SAFETENSORS_H
#define TENON_CODEGEN_HOST_SAFETENSORS_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <string>
#include <vector>

namespace mlir::tenon {

class SafeTensors {
public:
  struct Tensor {
    std::string dtype; ///< as a model's manifest has it, or the file's own
    std::vector<int64_t> shape;
    llvm::StringRef values; ///< lives as long as the file
  };

  /// Maps the file at `path`, or the files beside it that it lists if it is an
  /// index, `model.safetensors.index.json`, and checks their headers; errors
  /// name the path.
  static llvm::Expected<SafeTensors> open(llvm::StringRef path,
                                          llvm::StringRef prefix);

  /// The tensor of that name behind the prefix, or the only one whose name is
  /// that where C can write it: `layers.0.weight` is `layers_0_weight`. Null if
  /// there is none.
  const Tensor *find(llvm::StringRef name) const;

  /// With their prefix, sorted.
  std::vector<llvm::StringRef> getNames() const;

  llvm::StringRef getPath() const { return path; }
  llvm::StringRef getPrefix() const { return prefix; }

private:
  llvm::Error addFile(llvm::StringRef file);
  llvm::Error addIndex();

  std::string path, prefix;
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> buffers;
  llvm::StringMap<Tensor> tensors;
};

} // namespace mlir::tenon

#endif // TENON_CODEGEN_HOST_SAFETENSORS_H
