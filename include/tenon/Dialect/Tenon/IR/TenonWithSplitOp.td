//===- TenonWithSplitOp.td - A matrix and its halves -------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONWITHSPLITOP_TD
#define TENON_DIALECT_TENON_IR_TENONWITHSPLITOP_TD

include "tenon/Dialect/Tenon/IR/TenonOpBase.td"

def Tenon_WithSplitOp : Tenon_Op<"with_split", [
    AllTypesMatch<["x", "result"]>]> {
  let summary = "A matrix, with its halves beside it";
  let description = [{
    Gives x. A layer that multiplies split numbers (a method that splits)
    takes the halves and factors that stand here, which `tenon.split` made of x;
    every other reader takes x. So what the halves cost is ordinary IR: those of a
    parameter are computed once a version of it (`--tenon-hoist-prepare`), those
    that nothing reads are not computed, and the CPU, which ignores strategies,
    reads x alone. `--tenon-select-strategy` writes it, `--tenon-to-tiled` reads
    it.

    With `transposed` x is `[K, M]`, and the halves are those of its transpose.

    Requires: x `[M, K]` of f32; halves and factors of the types that
    `tenon.split` gives for x. Gives: x's type.

    Example:

    ```mlir
    %halves, %factors = tenon.split %w
        : (tensor<32x40xf32>) -> (tensor<32x128xf16>, tensor<32x1xf32>)
    %1 = tenon.with_split %w, %halves, %factors
        : tensor<32x40xf32>, tensor<32x128xf16>, tensor<32x1xf32>
    ```

    Errors: x of another type; halves or factors that cannot be x's.
  }];
  let arguments = (ins Tenon_Matrix:$x, Tenon_Matrix:$halves,
                       Tenon_Matrix:$factors, UnitAttr:$transposed);
  let results = (outs Tenon_Matrix:$result);
  let assemblyFormat = [{
    $x `,` $halves `,` $factors (`transposed` $transposed^)? attr-dict
    `:` type($x) `,` type($halves) `,` type($factors)
  }];
  let hasVerifier = 1;
}

#endif // TENON_DIALECT_TENON_IR_TENONWITHSPLITOP_TD
