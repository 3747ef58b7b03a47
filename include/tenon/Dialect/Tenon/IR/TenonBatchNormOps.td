//===- TenonBatchNormOps.td - Batch norm -------------------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONBATCHNORMOPS_TD
#define TENON_DIALECT_TENON_IR_TENONBATCHNORMOPS_TD

include "tenon/Dialect/Tenon/IR/TenonOpBase.td"

def Tenon_BatchNormInferenceOp : Tenon_Op<"batch_norm_inference", [
    AttrSizedOperandSegments, AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<Tenon_ElementwiseEpilogueOp>]> {
  let summary = "Batch norm with given statistics (eval mode)";
  let description = [{
    `result = (input - mean) / sqrt(variance + eps) * weight + bias`, feature by
    feature, as PyTorch's `batch_norm` with `training=False`. A missing weight is
    1, a missing bias 0.

    Requires: input `[M, N]`; mean, variance, weight and bias `[N]`; eps finite
    and not negative. Gives: input's type.

    Example:

    ```mlir
    %1 = tenon.batch_norm_inference %0 stats(%mean, %var) weight(%g) bias(%b) {eps = 1.0e-5}
        : tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
    ```

    Errors: an operand that is not `[N]`; an eps that is negative or not finite.
  }];
  let arguments = (ins Tenon_Matrix:$input, Tenon_Features:$mean,
                       Tenon_Features:$variance,
                       Optional<Tenon_Features>:$weight,
                       Optional<Tenon_Features>:$bias,
                       DefaultValuedAttr<F64Attr, "1.0e-5">:$eps);
  let results = (outs Tenon_Matrix:$result);
  let assemblyFormat = [{
    $input `stats` `(` $mean `,` $variance `)` (`weight` `(` $weight^ `)`)?
    (`bias` `(` $bias^ `)`)? attr-dict `:` type($input) `,` type($mean) `,`
    type($variance) ``
    custom<AffineTypes>(ref($weight), ref($bias), type($weight), type($bias))
  }];
  let hasVerifier = 1;
}

def Tenon_BatchNormTrainingOp : Tenon_Op<"batch_norm_training", [
    AttrSizedOperandSegments, AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<Tenon_ReductionEpilogueOp>]> {
  let summary = "Batch norm with the batch's own statistics (train mode)";
  let description = [{
    For each feature, over the batch: mean and biased variance; `result = (input -
    mean) / sqrt(variance + eps) * weight + bias`. As PyTorch's `batch_norm` with
    `training=True`. Where running statistics are given, their new values are
    results too, with the unbiased variance (divisor M - 1):

    `new_mean = (1 - momentum) * running_mean + momentum * mean`, and likewise the
    variance. Partial statistics are combined by Chan's rule on (count, mean, M2),
    in a fixed order, so results repeat bit for bit.

    With `save_statistics`, the last two results are what a later backward pass
    takes, as PyTorch's `native_batch_norm` saves it: the batch's mean and `1 /
    sqrt(variance + eps)`.

    Source: Chan, Golub, LeVeque, *Updating formulae and a pairwise algorithm for
    computing sample variances*, 1979.

    Requires: input `[M, N]` with M > 1; the other operands `[N]`; running mean
    and running variance both or neither; eps finite and not negative, momentum
    finite. A dynamic M of 1 gives NaN in the new variance.
    Gives: input's type; the new running statistics have the old ones' types, and
    the saved ones are f32, or f64 where input is.

    Example:

    ```mlir
    %y, %mean, %var = tenon.batch_norm_training %0 weight(%g) bias(%b) running(%rm, %rv)
        {eps = 1.0e-5, momentum = 0.1}
        : (tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
        -> (tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>)
    ```

    ```mlir
    %y, %mean, %scale = tenon.batch_norm_training %0 {save_statistics}
        : (tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<64xf32>, tensor<64xf32>)
    ```

    Within a `tenon.epilogue` the batch's moments may be given, as `tenon.moments`
    has them for each `moment_rows` rows; then they are combined, and input is not
    reduced.

    Errors: an operand that is not `[N]`; one running statistic without the other;
    results that are not those said above; a static M of 1; an eps that is negative
    or not finite; moments elsewhere than in a `tenon.epilogue`, without
    `moment_rows` or of another shape.
  }];
  let arguments = (ins Tenon_Matrix:$input, Optional<Tenon_Features>:$weight,
                       Optional<Tenon_Features>:$bias,
                       Optional<Tenon_Features>:$running_mean,
                       Optional<Tenon_Features>:$running_var,
                       Optional<Tenon_Matrix>:$moments,
                       DefaultValuedAttr<F64Attr, "1.0e-5">:$eps,
                       DefaultValuedAttr<F64Attr, "0.1">:$momentum,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$moment_rows,
                       UnitAttr:$save_statistics);
  let results = (outs Tenon_Matrix:$result,
                      Variadic<Tenon_Features>:$statistics);
  let assemblyFormat = [{
    $input (`weight` `(` $weight^ `)`)? (`bias` `(` $bias^ `)`)?
    (`running` `(` $running_mean^ `,` $running_var `)`)?
    (`moments` `(` $moments^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The new running mean and variance, if old ones are given.
    ResultRange getNewStatistics() {
      return getStatistics().take_front(getRunningMean() ? 2 : 0);
    }
    /// The batch's mean and inverse deviation, if they are asked for.
    ResultRange getSavedStatistics() {
      return getStatistics().drop_front(getRunningMean() ? 2 : 0);
    }
  }];
}

/// An op that only reduces, whose states are computed by the functions of the
/// namespace `arithmetic`. It says itself what a column's state gives, in
/// `emitColumnResults`.
class Tenon_BatchReductionOp<string mnemonic, string arithmetic>
    : Tenon_Op<mnemonic, [
    DeclareOpInterfaceMethods<Tenon_ReductionEpilogueOp>]> {
  let arguments = (ins Tenon_Matrix:$input, Optional<Tenon_Matrix>:$moments,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$moment_rows);
  let hasVerifier = 1;
  let extraClassDefinition = !subst("$arithmetic", arithmetic, [{
    using Values = ::llvm::SmallVector<::mlir::Value>;
    ::mlir::Value $cppClass::getReducedInput() { return getInput(); }
    ::mlir::Value $cppClass::getMapped() { return {}; }
    ::mlir::ResultRange $cppClass::getColumnResults() {
      return (*this)->getResults();
    }
    Values $cppClass::getColumnOperands() { return {}; }
    unsigned $cppClass::getStateSize() { return $arithmetic::kStateSize; }
    Values $cppClass::emitInit(::mlir::OpBuilder &b, ::mlir::Location loc,
                               ::mlir::Type type) {
      return $arithmetic::emitInit(b, loc, type);
    }
    Values $cppClass::emitChunk(::mlir::OpBuilder &b, ::mlir::Location loc,
                                ::mlir::ValueRange elements) {
      return $arithmetic::emitChunk(b, loc, elements);
    }
    Values $cppClass::emitDistances(::mlir::OpBuilder &b, ::mlir::Location loc,
                                    ::mlir::Value count,
                                    ::mlir::ValueRange distances) {
      return $arithmetic::emitDistances(b, loc, count, distances);
    }
    Values $cppClass::emitCombine(::mlir::OpBuilder &b, ::mlir::Location loc,
                                  ::mlir::Value lhsCount, ::mlir::ValueRange lhs,
                                  ::mlir::Value rhsCount,
                                  ::mlir::ValueRange rhs) {
      return $arithmetic::emitCombine(b, loc, lhsCount, lhs, rhsCount, rhs);
    }
    ::mlir::Value $cppClass::getOrigin(::mlir::ValueRange state) {
      return $arithmetic::getOrigin(state);
    }
    Values $cppClass::emitMove(::mlir::OpBuilder &b, ::mlir::Location loc,
                               ::mlir::ValueRange state, ::mlir::Value amount) {
      return $arithmetic::emitMove(b, loc, state, amount);
    }
    Values $cppClass::emitFinish(::mlir::OpBuilder &, ::mlir::Location,
                                 ::mlir::Value, ::mlir::ValueRange,
                                 ::mlir::ValueRange) {
      return {};
    }
    ::mlir::Value $cppClass::emitApply(::mlir::OpBuilder &, ::mlir::Location,
                                       ::mlir::Value element,
                                       ::mlir::ValueRange) {
      return element;
    }
  }]);
}

def Tenon_BatchMomentsOp : Tenon_BatchReductionOp<"batch_moments", "momentArithmetic"> {
  let summary = "Mean and M2 of each column over the batch";
  let description = [{
    For each feature, over the batch: the mean, and M2, the sum of squared
    distances from it. With the number of rows they are what several devices
    exchange to normalise over the batch of all (docs/PyTorch.md): (count, mean,
    M2) of parts combine by Chan's rule. They are reduced as those of
    `tenon.batch_norm_training`, so results repeat bit for bit.

    Requires: input `[M, N]`; a dynamic M may be 0, which gives zeros.
    Gives: two `[N]` of f32, or of f64 where input is.

    Example:

    ```mlir
    %mean, %m2 = tenon.batch_moments %0 : (tensor<?x64xbf16>) -> (tensor<64xf32>, tensor<64xf32>)
    ```

    Fused with the product, whose kernel has the moments of what it stores
    (`reduction = two_phase`), so that nothing reads it again:

    ```mlir
    %z, %mean, %m2 = tenon.fused_linear %x, %w : tensor<?x128xbf16>, tensor<64x128xbf16>
        epilogue(%acc: tensor<?x64xbf16>) -> (tensor<?x64xbf16>, tensor<64xf32>, tensor<64xf32>) {
      %0, %1 = tenon.batch_moments %acc : (tensor<?x64xbf16>) -> (tensor<64xf32>, tensor<64xf32>)
      tenon.yield %acc, %0, %1 : tensor<?x64xbf16>, tensor<64xf32>, tensor<64xf32>
    }
    ```

    Within a `tenon.epilogue` the moments of each `moment_rows` rows may be given,
    as `tenon.batch_norm_training` takes them.

    Errors: results of other types; moments elsewhere than in a
    `tenon.epilogue`, without `moment_rows` or of another shape.
  }];
  let results = (outs Tenon_Features:$mean, Tenon_Features:$m2);
  let assemblyFormat = [{
    $input (`moments` `(` $moments^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Tenon_BatchSumOp : Tenon_BatchReductionOp<"batch_sum", "sumArithmetic"> {
  let summary = "Sum of each column over the batch: a bias' gradient";
  let description = [{
    PyTorch's `sum(dim=0)`, added up in f32, or f64 where input is, in an order that
    does not change, so it repeats bit for bit. A product's kernel gives it beside
    what it stores (`reduction = two_phase`), and several of them: of what it stores,
    and of what it computes from that and does not store.

    Requires: input `[M, N]`; a dynamic M may be 0, which gives zeros.
    Gives: `[N]` of any type that input goes with; f64 goes with f64 only.

    Example:

    ```mlir
    %dz, %db = tenon.fused_linear %dy, %w layout<mk_kn> : tensor<512x128xbf16>, tensor<128x64xbf16>
        epilogue(%acc: tensor<512x64xbf16>, %y = %h: tensor<512x64xbf16>) -> (tensor<512x64xbf16>, tensor<64xbf16>) {
      %0 = tenon.gate %acc, %y : tensor<512x64xbf16>, tensor<512x64xbf16>
      %1 = tenon.batch_sum %0 : (tensor<512x64xbf16>) -> tensor<64xbf16>
      tenon.yield %0, %1 : tensor<512x64xbf16>, tensor<64xbf16>
    }
    ```

    Within a `tenon.epilogue` the sums of each `moment_rows` rows may be given in the
    place of moments, as `tenon.moments` with `sums` has them; then they are added
    up, and input only says how many rows there are.

    Errors: a result of another extent, or f64 with another type; moments as
    `tenon.batch_moments` has them.
  }];
  let results = (outs Tenon_Features:$sum);
  let assemblyFormat = [{
    $input (`moments` `(` $moments^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def Tenon_MomentsOp : Tenon_Op<"moments"> {
  let summary = "Mean and M2 of each column over blocks of rows";
  let description = [{
    Takes a matrix's rows in blocks of `rows`, the last of which may have fewer. The
    result has S rows for each block: of block b and each column, row S b is the
    mean, and row S b + 1 is M2, the sum of squared distances from it. So moments
    of several blocks combine by Chan's rule (`tenon.batch_norm_training`). All is
    computed in f32.

    Of an input in f32 S is 3, of one in 16 bits 2. The third row is what the first
    lacks of the mean, which is rounded there: where a column's mean is large beside
    its deviation, means of blocks differ by no more than that. Numbers of 16 bits
    differ by far more than their mean is rounded by.

    With `sums` S is 1, and the row is the sum of the block's rows.

    It stands in the region of a `tenon.tiled_linear`, whose yield alone uses it.
    A kernel of family `wgmma` whose warps lie along M takes moments of what it
    stores, and reads again; others, and of sums all, have what they reduce in
    registers. Rows are 64 with a schedule of family `wgmma`, those of a tile with
    `mma_sync`.

    Requires: input `[M, N]`; rows positive. Gives: f32 `[S ceil(M / rows), N]`.

    Example:

    ```mlir
    %m = tenon.moments %0 {rows = 128} : tensor<?x64xf32> -> tensor<?x64xf32>
    ```

    Errors: a result of another shape or type; rows that are not positive; any
    other place.
  }];
  let arguments = (ins Tenon_Matrix:$input,
                       ConfinedAttr<I64Attr, [IntPositive]>:$rows,
                       UnitAttr:$sums);
  let results = (outs Tenon_Matrix:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Rows of the result for each block, of an input with such elements: mean,
    /// M2, and for f32 the rest of the mean; or the sum.
    static int64_t getNumScalars(Type elementType, bool sums) {
      return sums ? 1 : elementType.isF32() ? 3 : 2;
    }
    int64_t getNumScalars() {
      return getNumScalars(getInput().getType().getElementType(), getSums());
    }
    /// Rows of the moments of `input`; dynamic if its rows are.
    static int64_t getNumRows(RankedTensorType input, int64_t rows,
                              bool sums) {
      int64_t m = input.getDimSize(0);
      return ShapedType::isDynamic(m) ? m
                                      : getNumScalars(input.getElementType(), sums) *
                                            llvm::divideCeil(m, rows);
    }
  }];
}

#endif // TENON_DIALECT_TENON_IR_TENONBATCHNORMOPS_TD
