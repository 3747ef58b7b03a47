//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layer as the prediction of times sees it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SCHEDULE_PREDICTION_LAYERPROBLEM_H
#define TENON_LIB_SCHEDULE_PREDICTION_LAYERPROBLEM_H

#include "tenon/Dialect/Tenon/IR/Tenon.h"

namespace mlir::tenon {

/// How long an epilogue computes: heavy ones have an op that is built on exp,
/// log, erf or tanh, or read an operand of the product's shape. Those that give
/// moments take what was measured of heavy ones first (WgmmaChoice.cpp).
enum class EpilogueClass { Light, Heavy };

/// What the prediction of times knows of a layer.
struct LayerProblem {
  int64_t m; ///< kAssumedRows where it is dynamic
  bool hasDynamicRows = false;
  int64_t n, k;
  OperandLayout layout = OperandLayout::MK_NK;
  /// Products of x, each with a w of n rows.
  int64_t weights = 1;
  /// Layers of one launch, whose columns n counts together.
  int64_t siblings = 1;
  /// Of layers whose products one kernel adds up: the longest one's K, by which
  /// a tuned schedule is looked up; k counts that of all. Else 0.
  int64_t longestK = 0;
  /// Of x and w, as the model has them and as a tiled kernel reads them.
  Type libraryType, tiledType;
  /// Whether f32 has to be multiplied as precision fp32 asks.
  bool isFp32 = false;
  /// How a tiled kernel multiplies.
  ProductMethod method = ProductMethod::Direct;
  /// Whether it multiplies bytes whose blocks have scales.
  bool hasBlockScales = false;
  /// Bytes of the bare product, as the library writes it.
  double productBytes = 0;
  /// Whether a training batch norm follows, how a tiled kernel is to reduce for
  /// it, bytes of what is reduced, and whether that reads an operand with rows.
  bool hasNorm = false;
  ReductionMethod reduction = ReductionMethod::Separate;
  double reducedBytes = 0;
  bool reducesRowOperand = false;
  /// Reductions of rows in its epilogue.
  int64_t numRowReductions = 0;
  /// Columns that these reduce together.
  int64_t reducedColumns = 0;
  /// With resident_rows: exponentials, logarithms and the like of an element.
  int64_t heavyOpsOfRows = 1;
  /// Unless null, the layer: then only schedules run by which it can be reduced
  /// (findReductionProblem).
  FusedLinearOp reduced;
  /// Whether the epilogue reads an operand with one value a row.
  bool hasRowValues = false;
  /// Bytes of the epilogue's operands and of the results.
  double epilogueBytes = 0;
  /// Bytes of an element of each [M, N] operand and result of a tiled kernel's
  /// epilogue.
  SmallVector<int64_t> matrixBytes;
  /// Of a tiled kernel.
  EpilogueClass epilogue = EpilogueClass::Light;
  /// Bytes read and written in each call to round or split x and w, or to give
  /// them the tiled type. Kernels of family wgmma round as they copy.
  double fitBytes = 0;
  /// Whether the library's own epilogue computes the whole layer, and whether
  /// that has an activation.
  bool libraryDoesAll = true, libraryActivates = false;
  /// Whether a tiled kernel's does; if not, it writes the bare product, or what
  /// is reduced.
  bool tiledDoesAll = true;
  /// Whether it gives sums over the batch besides, of parts of it, which the
  /// next kernel adds up.
  bool givesSums = false;

  /// Of the product, M as it is.
  ProductExtents getExtents() const {
    return {hasDynamicRows ? ShapedType::kDynamic : m, n, k};
  }
  /// Columns of x and w as a tiled kernel reads them.
  int64_t getTiledColumns() const;
  /// Products and sums, counted as two, for each of them and each result.
  double getOperations() const;
  /// Bytes of x and each w as a tiled kernel reads them, and of all that it
  /// reads and writes.
  double getOperandBytes() const;
  double getTiledBytes() const;
};

/// The batch that a dynamic M is taken for.
inline constexpr int64_t kAssumedRows = 1024;

} // namespace mlir::tenon

#endif // TENON_LIB_SCHEDULE_PREDICTION_LAYERPROBLEM_H
