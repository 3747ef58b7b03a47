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

    Source: Chan, Golub, LeVeque, *Updating formulae and a pairwise algorithm for
    computing sample variances*, 1979.

    Requires: input `[M, N]` with M > 1; the other operands `[N]`; running mean
    and running variance both or neither; eps finite and not negative, momentum
    finite. A dynamic M of 1 gives NaN in the new variance.
    Gives: input's type; the new running statistics have the old ones' types.

    Example:

    ```mlir
    %y, %mean, %var = tenon.batch_norm_training %0 weight(%g) bias(%b) running(%rm, %rv)
        {eps = 1.0e-5, momentum = 0.1}
        : (tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
        -> (tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>)
    ```

    Errors: an operand that is not `[N]`; one running statistic without the other;
    a static M of 1; an eps that is negative or not finite.
  }];
  let arguments = (ins Tenon_Matrix:$input, Optional<Tenon_Features>:$weight,
                       Optional<Tenon_Features>:$bias,
                       Optional<Tenon_Features>:$running_mean,
                       Optional<Tenon_Features>:$running_var,
                       DefaultValuedAttr<F64Attr, "1.0e-5">:$eps,
                       DefaultValuedAttr<F64Attr, "0.1">:$momentum);
  let results = (outs Tenon_Matrix:$result,
                      Variadic<Tenon_Features>:$new_statistics);
  let assemblyFormat = [{
    $input (`weight` `(` $weight^ `)`)? (`bias` `(` $bias^ `)`)?
    (`running` `(` $running_mean^ `,` $running_var `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // TENON_DIALECT_TENON_IR_TENONBATCHNORMOPS_TD
