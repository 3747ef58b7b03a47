//===- TenonAttrs.td - Attributes of the tenon dialect -----*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONATTRS_TD
#define TENON_DIALECT_TENON_IR_TENONATTRS_TD

include "mlir/IR/EnumAttr.td"
include "tenon/Dialect/Tenon/IR/TenonDialect.td"

def Tenon_Precision : I32EnumAttr<"Precision",
    "how accurate a product must be", [
      I32EnumAttrCase<"FP32", 0, "fp32">,
      I32EnumAttrCase<"TF32", 1, "tf32">,
      I32EnumAttrCase<"BF16", 2, "bf16">,
      I32EnumAttrCase<"FP16", 3, "fp16">]> {
  let cppNamespace = "::mlir::tenon";
  let genSpecializedAttr = 0;
}

def Tenon_PrecisionAttr : EnumAttr<Tenon_Dialect, Tenon_Precision,
                                   "precision"> {
  let summary = "A contract on the error of a product of f32 tensors";
  let description = [{
    Says how accurate the product must be, not which instruction computes it:

    | value  | the error is at most that of |
    |--------|------------------------------|
    | `fp32` | cuBLAS's SGEMM; the default |
    | `tf32` | a product of operands rounded to tf32, accumulated in f32 |
    | `bf16` | a product of operands rounded to bf16, accumulated in f32 |
    | `fp16` | a product of operands rounded to f16, accumulated in f32 |

    PyTorch's `torch.get_float32_matmul_precision()` maps to it: `highest` to
    `fp32`, `high` to `tf32`, `medium` to `bf16`.

    Example:

    ```mlir
    %y = tenon.linear %x, %w precision<tf32>
        : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
    ```
  }];
  let assemblyFormat = "`<` custom<Precision>($value) `>`";
}

def Tenon_GeluApproximation : I32EnumAttr<"GeluApproximation",
    "how gelu is computed", [
      I32EnumAttrCase<"None", 0, "none">,
      I32EnumAttrCase<"Tanh", 1, "tanh">]> {
  let cppNamespace = "::mlir::tenon";
  let genSpecializedAttr = 0;
}

def Tenon_GeluApproximationAttr : EnumAttr<Tenon_Dialect,
                                           Tenon_GeluApproximation, "gelu"> {
  let summary = "`none`: the exact gelu, by erf; `tanh`: the tanh approximation";
  let assemblyFormat = "`<` custom<GeluApproximation>($value) `>`";
}

#endif // TENON_DIALECT_TENON_IR_TENONATTRS_TD
