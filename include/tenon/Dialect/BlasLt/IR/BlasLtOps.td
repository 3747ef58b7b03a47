//===- BlasLtOps.td - The blaslt dialect -------------------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_BLASLT_IR_BLASLTOPS_TD
#define TENON_DIALECT_BLASLT_IR_BLASLTOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Dialect, type, enums
//===----------------------------------------------------------------------===//

def BlasLt_Dialect : Dialect {
  let name = "blaslt";
  let summary = "Products by cuBLASLt";
  let description = [{
    A call of cuBLASLt as two ops: `blaslt.plan`, a constant that says which
    product, and `blaslt.run`, which enqueues it. All matrices are row-major and
    contiguous: x `[M, K]` or `[K, M]`, w `[N, K]` or `[K, N]`, y `[M, N]`.
  }];
  let cppNamespace = "::mlir::blaslt";
  let useDefaultTypePrinterParser = 1;
}

def BlasLt_PlanType : TypeDef<BlasLt_Dialect, "Plan"> {
  let mnemonic = "plan";
  let summary = "A product that cuBLASLt can be asked for";
}

def BlasLt_Compute : I32EnumAttr<"Compute", "how the product is computed", [
    I32EnumAttrCase<"F32", 0, "f32">, I32EnumAttrCase<"TF32", 1, "tf32">,
    I32EnumAttrCase<"BF16", 2, "bf16">, I32EnumAttrCase<"F16", 3, "f16">,
    I32EnumAttrCase<"F64", 4, "f64">]> {
  let cppNamespace = "::mlir::blaslt";
}

def BlasLt_Activation : I32EnumAttr<"Activation",
    "what is applied to the sum before it is written", [
      I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Relu", 1, "relu">,
      I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">]> {
  let cppNamespace = "::mlir::blaslt";
}

def BlasLt_Scales : I32EnumAttr<"Scales",
    "what an x and a w of 8 bits are multiplied by", [
      I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Tensor", 1, "tensor">,
      I32EnumAttrCase<"Rows", 2, "rows">]> {
  let cppNamespace = "::mlir::blaslt";
}

//===----------------------------------------------------------------------===//
// plan
//===----------------------------------------------------------------------===//

def BlasLt_Float : AnyTypeOf<[F32, F16, BF16, F64, F8E4M3FN, F8E5M2],
                             "f32, f16, bf16, f64, f8E4M3FN or f8E5M2">;
class BlasLt_Shaped<list<int> ranks>
    : AnyTypeOf<[TensorRankOf<[BlasLt_Float], ranks>,
                 MemRefRankOf<[BlasLt_Float], ranks>]>;

def BlasLt_PlanOp : Op<BlasLt_Dialect, "plan", [Pure]> {
  let summary = "Says which product cuBLASLt is asked for";
  let description = [{
    `y = activation(alpha * x w^T + residual + bias)`, with x `[M, K]` and w
    `[N, K]` of the input type, y, residual `[M, N]` and bias `[N]` of the output
    type. With `x_transposed` x is given as `[K, M]`, with `w_transposed` w as
    `[K, N]`. The sum is accumulated in f32 (f64 for f64) and rounded once.
    `compute` says how: `f32`, or for f32 inputs by way of `tf32`, `bf16` or
    `f16`. With `scales = tensor` x and w, of 8 bits, are multiplied by a number
    each, `scales = rows` by one for each row of x, `[M, 1]`, and of w, `[N]`.

    Requires: n positive, k not negative; an output type equal to the input type,
    or f32 for 16-bit inputs; for 8 bits f32, f16 or bf16, with scales of rows
    bf16, n and k multiples of 16, x and w not transposed, and no scales of other
    inputs; `compute` that fits the input type; alpha finite.
    Gives: a plan, which becomes a constant of the compiled model.

    Example:

    ```mlir
    %plan = blaslt.plan n = 32, k = 64, compute = tf32 alpha = 2.0 bias
        activation = relu : f32 -> f32
    ```

    Errors: n or k out of range; a compute mode for another input type; types
    that cuBLASLt does not combine.
  }];
  let arguments = (ins I64Attr:$n, I64Attr:$k, BlasLt_Compute:$compute,
                       DefaultValuedAttr<F64Attr, "1.0">:$alpha,
                       UnitAttr:$residual, UnitAttr:$bias,
                       UnitAttr:$x_transposed, UnitAttr:$w_transposed,
                       DefaultValuedAttr<BlasLt_Scales,
                           "::mlir::blaslt::Scales::None">:$scales,
                       DefaultValuedAttr<BlasLt_Activation,
                           "::mlir::blaslt::Activation::None">:$activation,
                       TypeAttrOf<BlasLt_Float>:$input_type,
                       TypeAttrOf<BlasLt_Float>:$output_type);
  let results = (outs BlasLt_PlanType:$plan);
  let assemblyFormat = [{
    `n` `=` $n `,` `k` `=` $k `,` `compute` `=` $compute (`alpha` `=` $alpha^)?
    (`residual` $residual^)? (`bias` $bias^)?
    (`x_transposed` $x_transposed^)? (`w_transposed` $w_transposed^)? (`scales` `=` $scales^)? (`activation` `=` $activation^)?
    attr-dict `:` $input_type `->` $output_type
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isOf8Bits() { return getInputType().getIntOrFloatBitWidth() == 8; }
  }];
}

//===----------------------------------------------------------------------===//
// run
//===----------------------------------------------------------------------===//

def BlasLt_RunOp : Op<BlasLt_Dialect, "run", [
    AttrSizedOperandSegments, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Enqueues a product";
  let description = [{
    Runs a plan on tensors or memrefs and writes y; on tensors it gives y's new
    value. y may be the residual's buffer. The workspace is 32 MiB of scratch,
    which all runs of a function share.

    Requires: a plan made by a `blaslt.plan`; x, w, and, exactly where the plan
    has them, scales, bias and residual, of the plan's shapes and types.

    Example:

    ```mlir
    %y = blaslt.run %plan ins(%x, %w : tensor<?x64xf32>, tensor<32x64xf32>)
        bias(%b : tensor<32xf32>) workspace(%ws : tensor<33554432xi8>)
        outs(%init : tensor<?x32xf32>) -> tensor<?x32xf32>
    ```

    Errors: an operand of another shape or type than the plan's; a bias or a
    residual that the plan lacks, or the reverse; tensors mixed with memrefs.
  }];
  let arguments = (ins BlasLt_PlanType:$plan, BlasLt_Shaped<[2]>:$x,
                       BlasLt_Shaped<[2]>:$w,
                       Optional<BlasLt_Shaped<[0, 2]>>:$x_scale,
                       Optional<BlasLt_Shaped<[0, 1]>>:$w_scale,
                       Optional<BlasLt_Shaped<[1]>>:$bias,
                       Optional<BlasLt_Shaped<[2]>>:$residual,
                       AnyTypeOf<[1DTensorOf<[I8]>, MemRefRankOf<[I8], [1]>]>:$workspace,
                       BlasLt_Shaped<[2]>:$y);
  let results = (outs Optional<TensorRankOf<[BlasLt_Float], [2]>>:$result);
  let assemblyFormat = [{
    $plan `ins` `(` $x `,` $w `:` type($x) `,` type($w) `)`
    (`scales` `(` $x_scale^ `,` $w_scale `:` type($x_scale) `,` type($w_scale) `)`)?
    (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`residual` `(` $residual^ `:` type($residual) `)`)?
    `workspace` `(` $workspace `:` type($workspace) `)`
    `outs` `(` $y `:` type($y) `)` attr-dict (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    MutableOperandRange getDpsInitsMutable() { return getYMutable(); }
    PlanOp getPlanOp() { return getPlan().getDefiningOp<PlanOp>(); }
    bool isOnTensors() { return isa<TensorType>(getY().getType()); }
  }];
}

#endif // TENON_DIALECT_BLASLT_IR_BLASLTOPS_TD
