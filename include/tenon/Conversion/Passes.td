//===- Passes.td - From other dialects to tenon's ----------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CONVERSION_PASSES_TD
#define TENON_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

// It runs on modules, not on functions in parallel: MLIR's remark engine has no
// lock.
def TenonRaiseLinalg : Pass<"tenon-raise-linalg", "::mlir::ModuleOp"> {
  let summary = "Raise linalg on tensors to tenon ops";
  let description = [{
    Takes ops of linalg, named or generic, for what they compute of matrices.
    Before:

    ```mlir
    func.func @raise_layer(%x: tensor<?x16xf32>, %w: tensor<16x8xf32> {tenon.param},
                           %b: tensor<8xf32> {tenon.param}) -> tensor<?x8xf32> {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %m = tensor.dim %x, %c0 : tensor<?x16xf32>
      %empty = tensor.empty(%m) : tensor<?x8xf32>
      %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
      %0 = linalg.matmul ins(%x, %w : tensor<?x16xf32>, tensor<16x8xf32>)
                         outs(%fill : tensor<?x8xf32>) -> tensor<?x8xf32>
      %1 = linalg.generic {
          indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>,
                           affine_map<(m, n) -> (m, n)>],
          iterator_types = ["parallel", "parallel"]}
          ins(%0, %b : tensor<?x8xf32>, tensor<8xf32>) outs(%empty : tensor<?x8xf32>) {
      ^bb0(%y: f32, %bias: f32, %out: f32):
        %2 = arith.addf %y, %bias : f32
        %3 = arith.maximumf %2, %zero : f32
        linalg.yield %3 : f32
      } -> tensor<?x8xf32>
      return %1 : tensor<?x8xf32>
    }
    ```

    After:

    ```mlir
    func.func @raise_layer(%x: tensor<?x16xf32>, %w: tensor<16x8xf32> {tenon.param},
                           %b: tensor<8xf32> {tenon.param}) -> tensor<?x8xf32> {
      %0 = tenon.linear %x, %w layout<mk_kn>
          : (tensor<?x16xf32>, tensor<16x8xf32>) -> tensor<?x8xf32>
      %1 = tenon.add %0, %b : tensor<?x8xf32>, tensor<8xf32>
      %2 = tenon.relu %1 : tensor<?x8xf32>
      return %2 : tensor<?x8xf32>
    }
    ```

    | of linalg | of tenon |
    |-----------|----------|
    | a product of two matrices, transposed or not, whatever its name and maps; loops of one iteration, as a batch of one, do not count | `linear`; what it is added to becomes its bias, or an `add` |
    | an elementwise op, whatever its name, with operands of all, of each row or column, or of one element | ops of its body: `add` to `gate`, `exp` and its like, `cast`; other ops of arith and math on tensors of one shape stay those |
    | a reduction of rows by sum, maximum or minimum, of what a body computes | `reduce_row` |
    | a sum of columns | `batch_sum` |
    | `linalg.softmax` of rows | `reduce_row` and elementwise ops |
    | fills, broadcasts, transpositions, copies and reshapes of extent 1 that any of these reads | nothing: they are looked through |
    | what is spelled out: `x / (1 + exp(-x))`, `x / 2 * (1 + erf(x / sqrt(2)))`, ... | `sigmoid`, `silu`, `gelu`, `relu`, `leaky_relu`, `reduce_row mean` |

    Products are accumulated as a `linear` accumulates, in f32 or f64. A NaN stays
    a NaN, also where the text compares and selects so that it would not.

    What it does not take stays as it is, and a missed remark of category
    `tenon-raise-linalg` says why.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect",
                           "::mlir::tenon::TenonDialect"];
}

def TenonFlattenSignatures : Pass<"tenon-flatten-signatures", "::mlir::func::FuncOp"> {
  let summary = "Give functions arguments and results that a model can have";
  let description = [{
    Of a tensor of more than two dimensions, all of known extents, all but the last
    become rows: the elements stay in their order. Whole numbers and truth values are
    given as f64, which has them exactly up to 2^53. Before:

    ```mlir
    func.func @flatten(%x: tensor<2x3x8xf32>, %ids: tensor<2x3xi64>) -> (tensor<2x3x8xf32>, tensor<2x3xi64>)
    ```

    After, `arith.fptosi` makes whole numbers of the second argument:

    ```mlir
    func.func @flatten(%x: tensor<6x8xf32>, %ids: tensor<2x3xf64>) -> (tensor<6x8xf32>, tensor<2x3xi64>)
    ```

    Results of whole numbers stay, for the compiler to refuse.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TenonFlattenLoops : Pass<"tenon-flatten-loops", "::mlir::func::FuncOp"> {
  let summary = "Make one loop over rows of the leading loops of linalg ops";
  let description = [{
    Of an op of more than two loops, three if it is a product, all of known extents,
    those ahead of the last, or of the last two, become one, if all are parallel and
    each tensor has all of them side by side, or none. Then `tenon-raise-linalg` takes
    it for an op on matrices, and the CPU's loops are vectors and threads. Before:

    ```mlir
    %0 = linalg.exp ins(%x : tensor<2x3x8xf32>) outs(%empty : tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
    ```

    After:

    ```mlir
    %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x3x8xf32> into tensor<6x8xf32>
    %init = tensor.collapse_shape %empty [[0, 1], [2]] : tensor<2x3x8xf32> into tensor<6x8xf32>
    %0 = linalg.generic ... ins(%rows : tensor<6x8xf32>) outs(%init : tensor<6x8xf32>) { exp }
    %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [2, 3, 8] : tensor<6x8xf32> into tensor<2x3x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // TENON_CONVERSION_PASSES_TD
