//===- TenonLaunchOp.td - A launch of a kernel -------------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONLAUNCHOP_TD
#define TENON_DIALECT_TENON_IR_TENONLAUNCHOP_TD

include "tenon/Dialect/Tenon/IR/TenonOpBase.td"

def Tenon_TensorMaps : ConfinedAttr<
    TypedArrayAttrBase<Tenon_TensorMapAttr, "an array of #tenon.tensor_map">,
    [ArrayMinCount<1>]>;

def Tenon_LaunchOp : Op<Tenon_Dialect, "launch", [AttrSizedOperandSegments]> {
  let summary = "Launches a kernel";
  let description = [{
    Runs `blocks` blocks of `threads` threads of a kernel, with `shared` bytes of
    dynamic shared memory.

    With `persistent`, `blocks` are the pieces of work: the runtime launches as many
    as are resident at once, `persistent` at most. The kernel's last argument, an
    i64, is then the launch's token (`tenonLaunchPersistent` in Runtime.h). `cluster`
    blocks, whole clusters, share their memory; `resident` blocks wait for each
    other, so as many at least must be resident at once.

    `tensor_maps` are those through which the kernel reads its first operands,
    matrices all; the runtime encodes them. A kernel that `waits_itself` for what
    ran before it on the stream may start earlier.

    Example:

    ```mlir
    tenon.launch @kernels::@layer_tiled blocks(%work) threads(%c384) shared(%bytes)
        args(%x : memref<?x64xbf16>, %w : memref<32x64xbf16>, %m : i64, %token : i64)
        {persistent = 192 : i64}
    ```

    Errors: a number that is out of range; `cluster` or `resident` without
    `persistent`, or more than that; when it becomes a call, a kernel that
    `tenon.kernels` does not list, no token, or an operand that cannot be read
    through its map.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Index:$blocks, Index:$threads,
                       Optional<I32>:$shared, Variadic<AnyType>:$arguments,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$persistent,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntMinValue<1>, IntMaxValue<8>]>>:$cluster,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$resident,
                       OptionalAttr<Tenon_TensorMaps>:$tensor_maps,
                       UnitAttr:$waits_itself);
  let assemblyFormat = [{
    $kernel `blocks` `(` $blocks `)` `threads` `(` $threads `)`
    (`shared` `(` $shared^ `)`)?
    (`args` `(` custom<Arguments>($arguments, type($arguments))^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The maps of the first arguments; none where it has none.
    ArrayRef<Attribute> getMaps() {
      ArrayAttr maps = getTensorMapsAttr();
      return maps ? maps.getValue() : ArrayRef<Attribute>();
    }
  }];
}

#endif // TENON_DIALECT_TENON_IR_TENONLAUNCHOP_TD
