//===- TenonSplitOp.td - f32 as f16 on a scale -------------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONSPLITOP_TD
#define TENON_DIALECT_TENON_IR_TENONSPLITOP_TD

include "tenon/Dialect/Tenon/IR/TenonEpilogueOp.td"

def Tenon_SplitOp : Op<Tenon_Dialect, "split", [
    AlwaysSpeculatable, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Rows of f32 as f16 numbers on a scale, in one or two parts";
  let description = [{
    Writes each element of a row as `|f| (hi + lo)`, or as `|f| hi`, where hi and
    lo are f16 and f is the row's factor. What multiplies f16 alone can then
    multiply f32: a method takes as many parts as it has
    (`#tenon.schedule`'s methods).

    The factor's magnitude is a power of two, 2^-126 at least, that brings the
    row's largest magnitude, divided by it, into [2^14, 2^15); a row whose largest
    magnitude is below 2^-112 stays below that; of a row of zeros it is 1. With
    `v = x / |f|`, `hi` is v rounded to f16 and `lo` is `v - hi` rounded to f16, both
    to nearest even.

    A factor is negative where products of the parts could err more than those of
    f32 (of tf32, with one part). An element loses digits if it differs from the
    sum of its parts by 2^-22 of itself or more, times `sqrt(K / 64)` if K is above
    64, or with one part by 2^-11; on a scale of the row's largest element, those far
    below it do. It loses few if it differs by less, but by 2^-22 of itself. Of a row
    with n elements that are not zero, n > 0, l of which lose digits and q few, the
    factor is negative if `64 (l + 1) + 2 q > n` with two parts, if `64 l > n` with
    one, and if an element is infinite or NaN. So with two parts n is at least 64: a sum of fewer products would
    show that the product of the two lo is left out.

    Halves are `[M, L]`. With one part L is K rounded up to a multiple of 8, and
    column k is hi of element k. With two, L is 2 K, with K rounded up to a
    multiple of 32: 32 columns of hi are followed by the 32 of lo of the same
    elements. Columns beyond K are zero.

    With `transposed` x is `[K, M]`, and the halves are those of its transpose.

    On tensors it gives the halves and the factors `[M, 1]`; on memrefs it writes
    them to `outs`. One kernel comes of it (`--tenon-emit-kernels`).

    Requires: x `[M, K]` of f32, K from 1 to 2^25; x `[K, M]` static. Gives: f16
    halves, f32 factors.

    Example:

    ```mlir
    %halves, %factors = tenon.split %x
        : (tensor<?x40xf32>) -> (tensor<?x128xf16>, tensor<?x1xf32>)
    ```

    Errors: x of another type or extent; halves or factors of another type or extent;
    tensors mixed with memrefs.
  }];
  let arguments = (ins Tenon_TensorOrMemRef:$x,
                       Variadic<Tenon_TensorOrMemRef>:$outputs,
                       UnitAttr:$transposed);
  let results = (outs Variadic<Tenon_Tensor>:$results);
  let assemblyFormat = [{
    $x (`transposed` $transposed^)? (`outs` `(` $outputs^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [
    // On tensors, in one or two parts.
    OpBuilder<(ins "::mlir::Value":$x, "unsigned":$parts, "bool":$transposed)>,
    // On memrefs.
    OpBuilder<(ins "::mlir::Value":$x, "::mlir::ValueRange":$outputs,
                   "bool":$transposed)>,
  ];
  let extraClassDeclaration = [{
    bool isOnTensors();
    /// Tensors or memrefs.
    Value getHalves();
    Value getFactors();
    /// Of what is split: x, or its transpose.
    int64_t getM();
    int64_t getK();
    /// 1 or 2.
    unsigned getParts();
    /// Columns of the halves of `k` elements a row.
    static int64_t getNumColumns(int64_t k, unsigned parts);
    /// Neighbouring columns of hi, before those of lo, with two parts.
    static constexpr int64_t kPartColumns = 32;
    /// The largest K: that a row's score, of 63 an element, be an i32.
    static constexpr int64_t kMaxColumns = int64_t{1} << 25;
  }];
}

#endif // TENON_DIALECT_TENON_IR_TENONSPLITOP_TD
