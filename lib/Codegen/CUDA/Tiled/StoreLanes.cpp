//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// st.global of 1 to 16 bytes under a predicate.
//
//===----------------------------------------------------------------------===//

#include "StoreLanes.h"

#include "Codegen/CUDA/Emit/ElementEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

/// Stores words of 32 bits, 4 at most, or a part of one.
static void emitStore(KernelBuilder &b, Value pointer, ValueRange words,
                      Value condition) {
  unsigned bits = words[0].getType().getIntOrFloatBitWidth();
  std::string registers, constraints = "l,r";
  for (unsigned i = 0; i != words.size(); ++i) {
    registers += (i ? ", $" : "$") + std::to_string(i + 2);
    constraints += bits == 32 ? ",r" : ",h";
  }
  std::string type = "b" + std::to_string(bits);
  if (words.size() != 1) {
    type = "v" + std::to_string(words.size()) + "." + type;
    registers = "{" + registers + "}";
  }
  SmallVector<Value> operands{pointer, b.toI32(condition)};
  for (Value word : words) // PTX has no registers of 8 bits
    operands.push_back(
        bits == 8 ? arith::ExtUIOp::create(b, b.getI16Type(), word) : word);
  // No other access of the kernel may move across: an output may be an input's
  // buffer.
  b.ptx("{ .reg .pred p; setp.ne.b32 p, $1, 0; @p st.global." + type +
            " [$0], " + registers + "; }",
        constraints + ",~{memory}", operands);
}

/// The bits of neighbouring elements as words of 32 bits, or as one of fewer.
static SmallVector<Value> getWords(KernelBuilder &b, ArrayRef<Value> elements) {
  Type type = elements[0].getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  size_t count = std::min<size_t>(elements.size(), 32 / bits);
  Type word = b.getIntegerType(count * bits);
  SmallVector<Value> words;
  for (unsigned i = 0; i != elements.size(); i += count) {
    if (count == 1)
      words.push_back(arith::BitcastOp::create(b, word, elements[i]));
    else
      words.push_back(LLVM::BitcastOp::create(
          b, word,
          vector::FromElementsOp::create(b, VectorType::get(count, type),
                                         elements.slice(i, count))));
  }
  return words;
}

void tenon::emitStoreLanes(KernelBuilder &b, Value pointer, Value offset,
                           Type elementType, ArrayRef<Value> values,
                           Value condition) {
  if (!condition)
    return storeLanes(b, pointer, offset, elementType, values);
  SmallVector<Value> elements = roundElements(b, elementType, values);
  Value address =
      LLVM::GEPOp::create(b, pointer.getType(), elements[0].getType(), pointer,
                          ArrayRef<LLVM::GEPArg>{offset});
  SmallVector<Value> words = getWords(b, elements);
  for (unsigned i = 0; i < words.size(); i += 4)
    emitStore(b, b.offset(address, 4 * i),
              ValueRange(words).slice(i, std::min<size_t>(4, words.size() - i)),
              condition);
}
