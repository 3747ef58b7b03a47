//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NumPy's file format .npy, for the dtypes of tensors. bfloat16, which NumPy
// lacks, is its bits, uint16.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_RUN_NPY_H
#define TENON_TOOLS_TENON_RUN_NPY_H

#include "Tensor.h"

#include <fstream>

namespace tenon::run {

/// An open file whose header has been read.
class NpyFile {
public:
  explicit NpyFile(const std::string &path);

  /// Fails unless the file holds what `tensor` of a function has; dynamic
  /// extents may be any.
  void checkFits(const FunctionInfo &function, const TensorInfo &tensor) const;
  /// The elements, which must be all that is left of the file.
  void readInto(Tensor &host);

  std::vector<int64_t> shape;

private:
  [[noreturn]] void malformed(const std::string &what) const;
  void readHeader();
  void parseHeader(const std::string &header);

  std::string path, descr;
  std::ifstream file;
};

/// Writes a tensor on the CPU. The file appears whole or not at all.
void writeNpy(const std::string &path, const Tensor &host);

/// Fails where `writeNpy` surely would, before the work is done.
void checkWritable(const std::string &path);

} // namespace tenon::run

#endif // TENON_TOOLS_TENON_RUN_NPY_H
