//===- TenonElementwiseOps.td - Elementwise ops ------------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONELEMENTWISEOPS_TD
#define TENON_DIALECT_TENON_IR_TENONELEMENTWISEOPS_TD

include "tenon/Dialect/Tenon/IR/TenonOpBase.td"

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//
// None is `Commutative`: that trait swaps operands, and the result has the
// element type of the first.

def Tenon_AddOp : Tenon_BinaryOp<"add", [], ["getLibraryPart"]> {
  let summary = "Sum: a bias, a residual, a constant";
  let description = !strconcat([{
    `result = input + other`.

  }], broadcasting, [{
    Example:

    ```mlir
    %1 = tenon.add %0, %bias : tensor<?x64xf32>, tensor<64xf32>
    %2 = tenon.add %1, 3.0 : tensor<?x64xf32>
    ```
  }]);
}

def Tenon_SubOp : Tenon_BinaryOp<"sub"> {
  let summary = "Difference";
  let description = !strconcat([{
    `result = input - other`. A constant may stand first.

  }], broadcasting, [{
    Example:

    ```mlir
    %1 = tenon.sub %0, %mean : tensor<?x64xf32>, tensor<64xf32>
    %2 = tenon.sub 1.0, %1 : tensor<?x64xf32>
    ```
  }]);
}

def Tenon_MulOp : Tenon_BinaryOp<"mul", [], ["getLibraryPart"]> {
  let summary = "Product, element by element: a scale";
  let description = !strconcat([{
    `result = input * other`.

  }], broadcasting, [{
    Example:

    ```mlir
    %1 = tenon.mul %0, 2.0 : tensor<?x64xf32>
    %2 = tenon.mul %1, %scale : tensor<?x64xf32>, tensor<64xf32>
    ```
  }]);
}

def Tenon_DivOp : Tenon_BinaryOp<"div", [Tenon_Divides]> {
  let summary = "Quotient, element by element";
  let description = !strconcat([{
    `result = input / other`, correctly rounded. A constant may stand first.

  }], broadcasting, [{
    Example:

    ```mlir
    %1 = tenon.div %0, %deviation : tensor<?x64xf32>, tensor<64xf32>
    ```
  }]);
}

def Tenon_MinOp : Tenon_BinaryOp<"min"> {
  let summary = "Smaller of two; NaN if either is NaN";
  let description = !strconcat([{
    `result = min(input, other)`, as `torch.minimum`: a NaN on either side gives
    NaN.

  }], broadcasting, [{
    Example:

    ```mlir
    %1 = tenon.min %0, 6.0 : tensor<?x64xf32>
    ```
  }]);
}

def Tenon_MaxOp : Tenon_BinaryOp<"max"> {
  let summary = "Larger of two; NaN if either is NaN";
  let description = !strconcat([{
    `result = max(input, other)`, as `torch.maximum`: a NaN on either side gives
    NaN.

  }], broadcasting, [{
    Example:

    ```mlir
    %1 = tenon.max %0, %floor : tensor<?x64xf32>, tensor<64xf32>
    ```
  }]);
}

def Tenon_GateOp : Tenon_BinaryOp<"gate"> {
  let summary = "0 where the second operand is at most 0, else the first";
  let description = !strconcat([{
    `result = other <= 0 ? 0 : input`, as PyTorch's `threshold_backward`: where
    other is NaN the result is input, and where it is at most 0 the result is 0
    though input be infinite or NaN. With it derivatives of functions that are
    made of pieces are written: `tenon.gate 1.0, %x` is that of relu. A constant
    may stand first.

  }], broadcasting, [{
    Example:

    ```mlir
    %1 = tenon.gate %gradient, %y : tensor<?x64xf32>, tensor<?x64xf32>
    %2 = tenon.gate 1.0, %x : tensor<?x64xf32>
    ```
  }]);
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

def Tenon_ReluOp : Tenon_UnaryOp<"relu", [], ["getLibraryPart"]> {
  let summary = "`max(x, 0)`; NaN stays NaN";
  let description = [{
    Requires a tensor of rank 0 to 2; gives one of the same type. The only error
    is a wrong type.

    Example:

    ```mlir
    %1 = tenon.relu %0 : tensor<?x64xf32>
    ```
  }];
  let hasFolder = 1;
}

def Tenon_LeakyReluOp : Tenon_UnaryOp<"leaky_relu"> {
  let summary = "`x` where `x > 0`, else `negative_slope * x`";
  let description = [{
    PyTorch's `leaky_relu`. `negative_slope` must be finite; it defaults to 0.01.

    Example:

    ```mlir
    %1 = tenon.leaky_relu %0 {negative_slope = 0.1} : tensor<?x64xf32>
    ```

    Errors: a slope that is inf or NaN.
  }];
  let arguments = (ins Tenon_Tensor:$input,
                       DefaultValuedAttr<F64Attr, "0.01">:$negative_slope);
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Tenon_GeluOp : Tenon_UnaryOp<"gelu", [Tenon_Transcendental], ["getLibraryPart"]> {
  let summary = "Gaussian error linear unit, exact or by the tanh approximation";
  let description = [{
    Exact: `x / 2 * (1 + erf(x / sqrt(2)))`. `approximate<tanh>`:
    `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`, which cuBLASLt can
    apply by itself.

    Of f32, f16 and bf16 the exact gelu is computed as `x |s - 2^p(|x|)|`, s = 1 if x > 0,
    else 0, with a polynomial p, without erf: fewer instructions, and accurate where x is
    negative and `1 + erf` cancels. p has fewer terms where the result is f16 or
    bf16: they add a quarter of a rounding to that type.

    `approximate<tf32>` is the exact gelu with fewer terms of f32 too: it errs by
    2^-18 of x, where a product of tf32 errs by 2^-11. `--tenon-to-tiled` makes it
    of the gelu of such a product.

    Source: Hendrycks and Gimpel, arXiv 1606.08415.

    Example:

    ```mlir
    %1 = tenon.gelu %0 : tensor<?x64xf32>
    %2 = tenon.gelu %0 approximate<tanh> : tensor<?x64xf32>
    ```

    The only error is a wrong type.
  }];
  let arguments = (ins Tenon_Tensor:$input,
                       DefaultValuedAttr<Tenon_GeluApproximationAttr,
                           "::mlir::tenon::GeluApproximation::None">:$approximate);
  let assemblyFormat =
      "$input (`approximate` `` $approximate^)? attr-dict `:` type($input)";
}

def Tenon_GeluDerivativeOp : Tenon_UnaryOp<"gelu_derivative", [Tenon_Transcendental]> {
  let summary = "Derivative of the exact gelu";
  let description = [{
    `Phi(x) + x phi(x)`, with the normal distribution and its density. Times the
    gradient of a gelu it is PyTorch's `gelu_backward`. Of f32, f16 and bf16 Phi is
    computed as [gelu](#tenongelu-tenongeluop) does, with as many terms. That of
    the gelu with `tanh` is written by `sigmoid`.

    Requires a tensor of rank 0 to 2; gives one of the same type. The only error
    is a wrong type.

    Example:

    ```mlir
    %1 = tenon.gelu_derivative %x : tensor<?x64xf32>
    %2 = tenon.mul %gradient, %1 : tensor<?x64xf32>, tensor<?x64xf32>
    ```
  }];
}

def Tenon_SiluOp : Tenon_UnaryOp<"silu", [Tenon_Transcendental, Tenon_Divides]> {
  let summary = "`x * sigmoid(x)`, also called swish";
  let description = [{
    Requires a tensor of rank 0 to 2; gives one of the same type. The only error
    is a wrong type.

    Example:

    ```mlir
    %1 = tenon.silu %0 : tensor<?x64xf32>
    ```
  }];
}

def Tenon_MishOp : Tenon_UnaryOp<"mish", [Tenon_Transcendental, Tenon_Divides]> {
  let summary = "`x * tanh(log(1 + exp(x)))`";
  let description = [{
    Computed as `x * n / (n + 2)` with `n = e (e + 2)`, `e = exp(x)`, which loses
    no digits for negative x; beyond x = 20 the result is x.

    Source: Misra, arXiv 1908.08681.

    Example:

    ```mlir
    %1 = tenon.mish %0 : tensor<?x64xf32>
    ```

    The only error is a wrong type.
  }];
}

def Tenon_SoftplusOp : Tenon_UnaryOp<"softplus", [Tenon_Transcendental]> {
  let summary = "`log(1 + exp(beta * x)) / beta`; x where `beta * x > threshold`";
  let description = [{
    PyTorch's `softplus`. `beta` is 1 and `threshold` 20 where they are not given.
    No digits are lost where the result is small, and nothing overflows before
    the result does.

    Example:

    ```mlir
    %1 = tenon.softplus %0 : tensor<?x64xf32>
    %2 = tenon.softplus %1 {beta = 2.0} : tensor<?x64xf32>
    ```

    Errors: an attribute that is inf or NaN.
  }];
  let arguments = (ins Tenon_Tensor:$input,
                       DefaultValuedAttr<F64Attr, "1.0">:$beta,
                       DefaultValuedAttr<F64Attr, "20.0">:$threshold);
  let hasVerifier = 1;
}

def Tenon_EluOp : Tenon_UnaryOp<"elu", [Tenon_Transcendental]> {
  let summary = "`x` where `x > 0`, else `alpha * (exp(x) - 1)`, scaled";
  let description = [{
    `scale * x` where `x > 0`, else `scale * alpha * (exp(input_scale * x) - 1)`,
    as ATen's `elu`, of which `selu` and `celu` are made. Each attribute is 1 where
    it is not given. No digits of a small x are lost.

    Source: Clevert, Unterthiner and Hochreiter, arXiv 1511.07289.

    Example:

    ```mlir
    %1 = tenon.elu %0 : tensor<?x64xf32>
    %2 = tenon.elu %1 {alpha = 0.5, input_scale = 2.0} : tensor<?x64xf32>
    ```

    Errors: an attribute that is inf or NaN.
  }];
  let arguments = (ins Tenon_Tensor:$input,
                       DefaultValuedAttr<F64Attr, "1.0">:$alpha,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale,
                       DefaultValuedAttr<F64Attr, "1.0">:$input_scale);
  let hasVerifier = 1;
}

def Tenon_ExpOp : Tenon_UnaryOp<"exp", [Tenon_Transcendental]> {
  let summary = "`e` to the power of x";
  let description = [{
    Requires a tensor of rank 0 to 2; gives one of the same type. The only error
    is a wrong type.

    Example:

    ```mlir
    %1 = tenon.exp %0 : tensor<?x64xf32>
    ```
  }];
}

def Tenon_LogOp : Tenon_UnaryOp<"log", [Tenon_Transcendental]> {
  let summary = "Natural logarithm";
  let description = [{
    Requires a tensor of rank 0 to 2; gives one of the same type. The only error
    is a wrong type.

    Example:

    ```mlir
    %1 = tenon.log %0 : tensor<?x64xf32>
    ```
  }];
}

def Tenon_RsqrtOp : Tenon_UnaryOp<"rsqrt", [Tenon_Divides]> {
  let summary = "`1 / sqrt(x)`; of a zero infinite, of what is below it NaN";
  let description = [{
    PyTorch's `rsqrt`, as correct division and square root give it. Of a sum of
    squares a row it is what a norm multiplies by.

    Requires a tensor of rank 0 to 2; gives one of the same type. The only error
    is a wrong type.

    Example:

    ```mlir
    %1 = tenon.rsqrt %0 : tensor<?x1xf32>
    ```
  }];
}

def Tenon_SigmoidOp : Tenon_UnaryOp<"sigmoid", [Tenon_Transcendental, Tenon_Divides]> {
  let summary = "`1 / (1 + exp(-x))`";
  let description = [{
    Requires a tensor of rank 0 to 2; gives one of the same type. The only error
    is a wrong type.

    Example:

    ```mlir
    %1 = tenon.sigmoid %0 : tensor<?x64xf32>
    ```
  }];
}

def Tenon_TanhOp : Tenon_UnaryOp<"tanh", [Tenon_Transcendental]> {
  let summary = "Hyperbolic tangent";
  let description = [{
    Requires a tensor of rank 0 to 2; gives one of the same type. The only error
    is a wrong type.

    Example:

    ```mlir
    %1 = tenon.tanh %0 : tensor<?x64xf32>
    ```
  }];
}

def Tenon_ClampOp : Tenon_UnaryOp<"clamp"> {
  let summary = "`min(max(x, min), max)`; NaN stays NaN";
  let description = [{
    PyTorch's `clamp`; a missing bound is minus or plus infinity. Where
    `min > max` every element becomes `max`.

    Example:

    ```mlir
    %1 = tenon.clamp %0 {min = -1.0, max = 1.0} : tensor<?x64xf32>
    ```

    Errors: a bound that is NaN.
  }];
  let arguments = (ins Tenon_Tensor:$input,
      DefaultValuedAttr<F64Attr,
          "-std::numeric_limits<double>::infinity()">:$min,
      DefaultValuedAttr<F64Attr,
          "std::numeric_limits<double>::infinity()">:$max);
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

def Tenon_SelectEqualOp : Tenon_Op<"select_equal", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<Tenon_ElementwiseEpilogueOp>]> {
  let summary = "x where two tensors are equal, and 0 elsewhere";
  let description = [{
    `a == b ? x : 0`, element by element; NaN equals nothing, and 0 is 0 whatever x
    is. With the numbers of columns as `a`, `[N]`, and one for each row as `b`,
    `[M, 1]`, the sum of a row is its element in that column, so a gather:

    ```mlir
    %1 = tenon.select_equal %0, %numbers, %target
        : tensor<?x64xf32>, tensor<64xf32>, tensor<?x1xf32>
    %2 = tenon.reduce_row sum %1 : tensor<?x64xf32>
    ```

    Shapes broadcast from the trailing dimension, as those of `tenon.add`. Gives
    x's element type.

    Errors: shapes that do not broadcast to x's; f64 with another element type.
  }];
  let arguments = (ins Tenon_Tensor:$input, Tenon_Tensor:$a, Tenon_Tensor:$b);
  let results = (outs Tenon_Tensor:$result);
  let assemblyFormat = [{
    $input `,` $a `,` $b attr-dict `:` type($input) `,` type($a) `,` type($b)
  }];
  let hasVerifier = 1;
}

def Tenon_RoundTf32Op : Tenon_UnaryOp<"round_tf32"> {
  let summary = "Rounds f32 to the 10 bits of mantissa of tf32";
  let description = [{
    To nearest, ties away from zero, as PTX's `cvt.rna.tf32.f32`. What is too
    large becomes infinite; infinities stay, and NaN stays NaN. Tensor cores drop
    the lower bits of what they are given; operands that are rounded before lose
    half as much. `--tenon-select-strategy` rounds x and w of tiled layers of
    precision `tf32` with it.

    Requires an f32 tensor of rank 0 to 2; gives one of the same type.

    Example:

    ```mlir
    %1 = tenon.round_tf32 %w : tensor<32x64xf32>
    ```

    Errors: another element type.
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Tenon_CastOp : Tenon_Op<"cast", [
    DeclareOpInterfaceMethods<Tenon_ElementwiseEpilogueOp>]> {
  let summary = "Rounds to another element type, or widens";
  let description = [{
    PyTorch's `to(dtype)`, of all types but f64. To fewer bits it rounds to nearest,
    ties to even; what is too large becomes infinite, or of f8E4M3FN, which has no
    infinity, the largest number. To f32 it is exact. Inside a fused op values are
    in f32, and one that is cast to fewer bits is rounded where it is yielded.

    Example:

    ```mlir
    %1 = tenon.cast %0 : tensor<?x64xf32> -> tensor<?x64xbf16>
    ```

    Errors: an f64 on either side; a result of another shape.
  }];
  let arguments = (ins Tenon_Tensor:$input);
  let results = (outs Tenon_Tensor:$result);
  let assemblyFormat =
      "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

#endif // TENON_DIALECT_TENON_IR_TENONELEMENTWISEOPS_TD
