//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ops as TableGen defines them, and what their assembly formats call.
//
//===----------------------------------------------------------------------===//

#include "MomentArithmetic.h"
#include "SumArithmetic.h"

#include "tenon/Dialect/Tenon/IR/Tenon.h"

using namespace mlir;
using namespace mlir::tenon;

//===----------------------------------------------------------------------===//
// Assembly of the optional operands of batch_norm_inference
//===----------------------------------------------------------------------===//

using OptionalOperand = std::optional<OpAsmParser::UnresolvedOperand>;

/// Parses `, type` for each of weight and bias that is there. An optional group
/// of the declarative format would take a lone bias's type for the weight's.
static ParseResult parseAffineTypes(OpAsmParser &parser,
                                    const OptionalOperand &weight,
                                    const OptionalOperand &bias,
                                    Type &weightType, Type &biasType) {
  if (weight && (parser.parseComma() || parser.parseType(weightType)))
    return failure();
  if (bias && (parser.parseComma() || parser.parseType(biasType)))
    return failure();
  return success();
}

static void printAffineTypes(OpAsmPrinter &printer, Operation * /*op*/,
                             Value weight, Value bias, Type weightType,
                             Type biasType) {
  if (weight)
    printer << ", " << weightType;
  if (bias)
    printer << ", " << biasType;
}

/// `%x : type, ...`, the arguments of a launched kernel.
static ParseResult
parseArguments(OpAsmParser &parser,
               SmallVectorImpl<OpAsmParser::UnresolvedOperand> &arguments,
               SmallVectorImpl<Type> &types) {
  return parser.parseCommaSeparatedList([&] {
    return failure(parser.parseOperand(arguments.emplace_back()) ||
                   parser.parseColonType(types.emplace_back()));
  });
}

static void printArguments(OpAsmPrinter &printer, Operation *,
                           OperandRange arguments, TypeRange) {
  llvm::interleaveComma(arguments, printer, [&](Value argument) {
    printer << argument << " : " << argument.getType();
  });
}

#define GET_OP_CLASSES
#include "tenon/Dialect/Tenon/IR/TenonOps.cpp.inc"
