//===- TenonResidentBlocksOp.td - What a GPU has room for --*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONRESIDENTBLOCKSOP_TD
#define TENON_DIALECT_TENON_IR_TENONRESIDENTBLOCKSOP_TD

include "tenon/Dialect/Tenon/IR/TenonOpBase.td"

def Tenon_ResidentBlocksOp : Op<Tenon_Dialect, "resident_blocks", [Pure]> {
  let summary = "How many blocks of a kernel the call's GPU runs at once";
  let description = [{
    For a function that chooses between kernels when it is called: one whose thread
    blocks wait for each other needs all of them on the GPU together. The kernel is
    one that the function launches with so many threads a block, bytes of dynamic
    shared memory, and blocks a cluster.

    Requires: the kernel's name, `@module::@kernel`; 1 to 1024 threads; 1 to 8
    blocks a cluster.
    Gives: blocks, in whole clusters; 0 where none fits.

    Example:

    ```mlir
    %blocks = tenon.resident_blocks @kernels::@forward_tiled
        {cluster_blocks = 2 : i64, shared_bytes = 231168 : i64, threads = 384 : i64}
    %fits = arith.cmpi sle, %needed, %blocks : i64
    ```

    Errors: a number that is out of range; when it becomes a call, a kernel that
    `tenon.kernels` does not list.
  }];
  let arguments = (ins SymbolRefAttr:$kernel,
                       ConfinedAttr<I64Attr, [IntMinValue<1>, IntMaxValue<1024>]>:$threads,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$shared_bytes,
                       ConfinedAttr<I64Attr, [IntMinValue<1>, IntMaxValue<8>]>:$cluster_blocks);
  let results = (outs I64:$blocks);
  let assemblyFormat = "$kernel attr-dict";
}

#endif // TENON_DIALECT_TENON_IR_TENONRESIDENTBLOCKSOP_TD
