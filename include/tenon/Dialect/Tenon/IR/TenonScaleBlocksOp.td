//===- TenonScaleBlocksOp.td - Blocks of 8 bits and scales -*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONSCALEBLOCKSOP_TD
#define TENON_DIALECT_TENON_IR_TENONSCALEBLOCKSOP_TD

include "tenon/Dialect/Tenon/IR/TenonEpilogueOp.td"

def Tenon_ScaleBlocksOp : Op<Tenon_Dialect, "scale_blocks", [
    AlwaysSpeculatable, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "A matrix of 8 bits whose blocks have scales, as f32";
  let description = [{
    `result[r, c] = x[r, c] * scales[r / rows, c / columns]`, rounded once. The last
    block of a row or column may be cut off.

    A layer that multiplies two such matrices, x of blocks 1x128 and w of blocks
    128x128, with a precision below `fp32` and layout `mk_nk`, has a kernel that
    takes their bytes: with method `fp8` each sum of 128 of K is multiplied by both
    scales as it is added up (`--tenon-to-tiled`). Elsewhere this is a kernel of
    its own, and what it gives is multiplied.

    On tensors it gives the result; on memrefs it writes it to `outs`.

    Scales may also be one vector, column by column, as scales of x lie in
    PyTorch; then R is static.

    Requires: x `[R, C]` of 8 bits, C static; f32 scales `[ceil(R / rows),
    ceil(C / columns)]`, of dynamic R with rows = 1, or `[ceil(C / columns) *
    ceil(R / rows)]` of static R; rows and columns positive.
    Gives: f32 `[R, C]`.

    Example:

    ```mlir
    %0 = tenon.scale_blocks %x, %s {rows = 1, columns = 128}
        : (tensor<?x256xf8E4M3FN>, tensor<?x2xf32>) -> tensor<?x256xf32>
    ```

    Errors: x of another type; scales or a result of another extent or type;
    dynamic R in blocks of several rows; tensors mixed with memrefs.
  }];
  let arguments = (ins Tenon_TensorOrMemRef:$x, Tenon_TensorOrMemRef:$scales,
                       Optional<Tenon_TensorOrMemRef>:$output,
                       ConfinedAttr<I64Attr, [IntPositive]>:$rows,
                       ConfinedAttr<I64Attr, [IntPositive]>:$columns);
  let results = (outs Optional<Tenon_Tensor>:$result);
  let assemblyFormat = [{
    $x `,` $scales (`outs` `(` $output^ `)`)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isOnTensors();
    /// What a kernel takes blocks of along K, and of w's rows.
    static constexpr int64_t kBlock = 128;
  }];
}

#endif // TENON_DIALECT_TENON_IR_TENONSCALEBLOCKSOP_TD
