//===- DataType.h - The table of element types ------------------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DataTypes.def as constants, for the compiler, the runtime, tools and
// bindings. Names begin with Tenon, as Runtime.h's do: mlir::tenon and tenon
// are different namespaces.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_DATATYPE_H
#define TENON_RUNTIME_DATATYPE_H

#include <cstdint>
#include <dlpack/dlpack.h>
#include <iterator>
#include <string>
#include <string_view>

/// Numbers in the code of a model.
enum TenonDType : int32_t {
#define TENON_DATA_TYPE(Id, Number, ...) kTenon##Id = Number,
#include "tenon/Runtime/DataTypes.def"
};

struct TenonDataType {
  TenonDType number;
  const char *id;       ///< "BF16", as safetensors has it
  const char *spelling; ///< "bf16", as MLIR has it
  const char *name;     ///< "bfloat16", as manifests, NumPy and PyTorch have it
  int64_t bytes;        ///< of an element
  uint8_t dlpackCode;
  const char *numpy; ///< in a .npy file
};

inline constexpr TenonDataType kTenonDataTypes[] = {
#define TENON_DATA_TYPE(Id, Number, Mlir, Spelling, Name, Bytes, DLPack,       \
                        NumPy, ...)                                            \
  {kTenon##Id, #Id, Spelling, Name, Bytes, DLPack, NumPy},
#include "tenon/Runtime/DataTypes.def"
};

constexpr const TenonDataType &getTenonDataType(TenonDType number) {
  for (const TenonDataType &type : kTenonDataTypes)
    if (type.number == number)
      return type;
  return kTenonDataTypes[0];
}

/// The type whose `field` is `text`; null if there is none.
constexpr const TenonDataType *
findTenonDataType(std::string_view text,
                  const char *TenonDataType::*field = &TenonDataType::name) {
  for (const TenonDataType &type : kTenonDataTypes)
    if (text == type.*field)
      return &type;
  return nullptr;
}

/// "float32, float16 and float64", for messages.
inline std::string listTenonDataTypes(const char *TenonDataType::*field,
                                      const char *beforeLast) {
  std::string text;
  for (const TenonDataType &type : kTenonDataTypes)
    text += (text.empty()                             ? ""
             : &type + 1 == std::end(kTenonDataTypes) ? beforeLast
                                                      : ", ") +
            std::string(type.*field);
  return text;
}

#endif // TENON_RUNTIME_DATATYPE_H
