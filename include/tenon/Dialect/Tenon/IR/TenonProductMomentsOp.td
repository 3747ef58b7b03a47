//===- TenonProductMomentsOp.td - Moments of a product -----*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONPRODUCTMOMENTSOP_TD
#define TENON_DIALECT_TENON_IR_TENONPRODUCTMOMENTSOP_TD

include "tenon/Dialect/Tenon/IR/TenonEpilogueOp.td"

def Tenon_ProductMomentsOp : Op<Tenon_Dialect, "product_moments", [
    AlwaysSpeculatable, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Mean and variances of a product's columns, without the product";
  let description = [{
    Of each column j of `x w^T`, over the rows of x: the mean, the biased variance
    (divisor M) and the unbiased one (divisor M - 1). They follow from the sums of
    x's rows and of their outer products: with s the first row of x,
    `S1 = sum (x_i - s)` and `S2 = sum (x_i - s)^T (x_i - s)`,

    `mean_j = w_j . (s + S1 / M)`, `M2_j = w_j S2 w_j^T - (w_j . S1)^2 / M`,

    and the variances are `M2_j / M` and `M2_j / (M - 1)`. All of it is computed in
    f64, in a fixed order, and rounded to f32 at the end; an M2 that rounding made
    negative is 0.

    That takes M K^2 and N K^2 products where those of `x w^T` are M N K: it pays
    where K is small. So a schedule with `reduction = input_moments` has the
    product's kernel normalise what it stores.

    On tensors it gives the three; on memrefs it writes them to `outs`. Three
    kernels come of it (`--tenon-emit-kernels`), on the CUDA target alone.

    Requires: x `[M, K]`, w `[N, K]` static, both of f32, f16 or bf16; K at most
    256. Gives: three f32 `[N]`. With one row the unbiased variance is NaN.

    Example:

    ```mlir
    %mean, %var, %unbiased = tenon.product_moments %x, %w
        : (tensor<?x128xbf16>, tensor<64x128xbf16>)
        -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
    ```

    Errors: x or w of another type or extent; results of another type, extent or
    number; tensors mixed with memrefs.
  }];
  let arguments = (ins Tenon_TensorOrMemRef:$x, Tenon_TensorOrMemRef:$w,
                       Variadic<Tenon_TensorOrMemRef>:$outputs);
  let results = (outs Variadic<Tenon_Tensor>:$results);
  let assemblyFormat = [{
    $x `,` $w (`outs` `(` $outputs^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // On tensors.
    OpBuilder<(ins "::mlir::Value":$x, "::mlir::Value":$w)>,
    // On memrefs.
    OpBuilder<(ins "::mlir::Value":$x, "::mlir::Value":$w,
                   "::mlir::ValueRange":$outputs)>,
  ];
  let extraClassDeclaration = [{
    bool isOnTensors();
    /// On tensors: of each column.
    Value getMean() { return getResults()[0]; }
    Value getVariance() { return getResults()[1]; }
    Value getUnbiasedVariance() { return getResults()[2]; }
    /// The largest K: beyond, the product itself is reduced in less time.
    static constexpr int64_t kMaxColumns = 256;
  }];
}

#endif // TENON_DIALECT_TENON_IR_TENONPRODUCTMOMENTSOP_TD
