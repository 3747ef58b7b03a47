//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// st.global of 2 to 16 bytes under a predicate.
//
//===----------------------------------------------------------------------===//

#include "StoreLanes.h"

#include "Codegen/CUDA/Emit/ElementEmitter.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::tenon;

/// Stores words of 32 bits, 4 at most, or half a word.
static void emitStore(KernelBuilder &b, Value pointer, ValueRange words,
                      Value condition) {
  bool isHalf = words[0].getType().isInteger(16);
  std::string registers, constraints = "l,r";
  for (unsigned i = 0; i != words.size(); ++i) {
    registers += (i ? ", $" : "$") + std::to_string(i + 2);
    constraints += isHalf ? ",h" : ",r";
  }
  std::string type = isHalf ? "b16" : "b32";
  if (words.size() != 1) {
    type = "v" + std::to_string(words.size()) + "." + type;
    registers = "{" + registers + "}";
  }
  SmallVector<Value> operands{pointer, b.toI32(condition)};
  llvm::append_range(operands, words);
  // No other access of the kernel may move across: an output may be an input's
  // buffer.
  b.ptx("{ .reg .pred p; setp.ne.b32 p, $1, 0; @p st.global." + type +
            " [$0], " + registers + "; }",
        constraints + ",~{memory}", operands);
}

/// The bits of neighbouring elements as words of 32 bits, or of one element of
/// 16 bits.
static SmallVector<Value> getWords(KernelBuilder &b, Type elementType,
                                   ArrayRef<Value> elements) {
  SmallVector<Value> words;
  if (elementType.getIntOrFloatBitWidth() == 32) {
    for (Value element : elements)
      words.push_back(arith::BitcastOp::create(b, b.getI32Type(), element));
    return words;
  }
  if (elements.size() == 1)
    return {arith::BitcastOp::create(b, b.getI16Type(), elements[0])};
  auto pair = VectorType::get(2, elementType);
  for (unsigned i = 0; i != elements.size(); i += 2)
    words.push_back(LLVM::BitcastOp::create(
        b, b.getI32Type(),
        vector::FromElementsOp::create(b, pair, elements.slice(i, 2))));
  return words;
}

void tenon::emitStoreLanes(KernelBuilder &b, Value pointer, Value offset,
                           Type elementType, ArrayRef<Value> values,
                           Value condition) {
  if (!condition)
    return storeLanes(b, pointer, offset, elementType, values);
  SmallVector<Value> elements = llvm::map_to_vector(
      values, [&](Value value) { return castFloat(b, value, elementType); });
  Value address = LLVM::GEPOp::create(b, pointer.getType(), elementType,
                                      pointer, ArrayRef<LLVM::GEPArg>{offset});
  SmallVector<Value> words = getWords(b, elementType, elements);
  for (unsigned i = 0; i < words.size(); i += 4)
    emitStore(b, b.offset(address, 4 * i),
              ValueRange(words).slice(i, std::min<size_t>(4, words.size() - i)),
              condition);
}
