//===- TenonDialect.td - The tenon dialect -----------------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_TENON_IR_TENONDIALECT_TD
#define TENON_DIALECT_TENON_IR_TENONDIALECT_TD

include "mlir/IR/OpBase.td"

def Tenon_Dialect : Dialect {
  let name = "tenon";
  let summary = "Linear layers and what follows them, before and after fusion";
  let description = [{
    The dialect says what a model computes, on tensors, and leaves how to the
    passes. Activations are `[M, K]` with M static or dynamic; weights are
    `[N, K]`, row-major as PyTorch keeps them, with N and K static. Element types
    are f32, f16, bf16, f64, f8E4M3FN and f8E5M2.

    A function argument marked `tenon.param` is a parameter of the model: it
    changes rarely, and what depends on parameters alone is computed once a
    version of them (`--tenon-hoist-prepare`). Every other argument is an
    activation. `tenon.name` gives an argument or result its name in the compiled
    model's header and manifest.

    Arithmetic on f64 is carried out in f64, on all others in f32; each op
    rounds its result to its element type. Inside a `tenon.fused_linear` an
    intermediate of fewer bits may stay in f32 until it is yielded. Numbered semantics are in
    [Spec.md](../Spec.md).
  }];
  let cppNamespace = "::mlir::tenon";
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Marks a function argument as a parameter (unit attribute).
    static constexpr llvm::StringLiteral kParamAttr = "tenon.param";
    /// Names a function argument or result (string attribute).
    static constexpr llvm::StringLiteral kNameAttr = "tenon.name";
    /// On an argument of `@f_run`: which result of `@f_prepare` it takes (i64).
    static constexpr llvm::StringLiteral kPreparedAttr = "tenon.prepared";
    /// On `@f_run`: the symbol of its `@f_prepare` (flat symbol reference).
    static constexpr llvm::StringLiteral kPrepareAttr = "tenon.prepare";
    /// On `@f_bounds`: it bounds the errors of the function before it (unit).
    static constexpr llvm::StringLiteral kBoundsAttr = "tenon.bounds";
    /// On a module: the names of its GPU kernels, by kernel number (array).
    static constexpr llvm::StringLiteral kKernelsAttr = "tenon.kernels";
    /// On a linear layer: the schedules that are worth measuring, and its
    /// epilogue's class (dictionary; --tenon-list-schedules).
    static constexpr llvm::StringLiteral kCandidatesAttr = "tenon.candidates";
  }];
}

#endif // TENON_DIALECT_TENON_IR_TENONDIALECT_TD
