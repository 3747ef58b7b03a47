// RUN: tenon-opt %s --tenon-raise-linalg --split-input-file | FileCheck %s --implicit-check-not=linalg.

// CHECK-LABEL: func.func @raise_matmul(
// CHECK-NEXT:    %[[Y:.*]] = tenon.linear %arg0, %arg1 layout<mk_kn> : (tensor<?x16xf32>, tensor<16x8xf32>) -> tensor<?x8xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @raise_matmul(%x: tensor<?x16xf32>, %w: tensor<16x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x16xf32>
  %empty = tensor.empty(%m) : tensor<?x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<?x16xf32>, tensor<16x8xf32>) outs(%fill : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @raise_transposed_weight(
// CHECK-NEXT:    tenon.linear %arg0, %arg1 : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
func.func @raise_transposed_weight(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %turned = tensor.empty() : tensor<16x8xf32>
  %t = linalg.transpose ins(%w : tensor<8x16xf32>) outs(%turned : tensor<16x8xf32>) permutation = [1, 0]
  %empty = tensor.empty() : tensor<4x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.matmul ins(%x, %t : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fill : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @raise_maps(
// CHECK-NEXT:    tenon.linear %arg0, %arg1 layout<km_nk> : (tensor<16x4xf16>, tensor<8x16xf16>) -> tensor<4x8xf32>
func.func @raise_maps(%x: tensor<16x4xf16>, %w: tensor<8x16xf16>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<16x4xf16>, tensor<8x16xf16>) outs(%fill : tensor<4x8xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %1 = arith.extf %a : f16 to f32
    %2 = arith.extf %b : f16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %sum, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// The transposed result's rows are those of w.
// CHECK-LABEL: func.func @raise_transposed_result(
// CHECK-NEXT:    tenon.linear %arg1, %arg0 : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<8x4xf32>
func.func @raise_transposed_result(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x4xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (n, m)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x16xf32>, tensor<8x16xf32>) outs(%fill : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func @raise_batch_of_one(
// CHECK-NEXT:    tenon.linear %arg0, %arg1 layout<mk_kn> : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
func.func @raise_batch_of_one(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %xs = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 4, 16] : tensor<4x16xf32> into tensor<1x4x16xf32>
  %ws = tensor.expand_shape %w [[0, 1], [2]] output_shape [1, 16, 8] : tensor<16x8xf32> into tensor<1x16x8xf32>
  %empty = tensor.empty() : tensor<1x4x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %0 = linalg.batch_matmul ins(%xs, %ws : tensor<1x4x16xf32>, tensor<1x16x8xf32>) outs(%fill : tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<1x4x8xf32> into tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @raise_vecmat(
// CHECK-NEXT:    %[[X:.*]] = tensor.expand_shape %arg0
// CHECK-NEXT:    %[[Y:.*]] = tenon.linear %[[X]], %arg1 layout<mk_kn> : (tensor<1x16xf32>, tensor<16x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT:    tensor.collapse_shape %[[Y]]
func.func @raise_vecmat(%x: tensor<16xf32>, %w: tensor<16x8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %0 = linalg.vecmat ins(%x, %w : tensor<16xf32>, tensor<16x8xf32>) outs(%fill : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @raise_bias(
// CHECK-NEXT:    tenon.linear %arg0, %arg1, %arg2 layout<mk_kn> : (tensor<4x16xf32>, tensor<16x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
func.func @raise_bias(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %empty = tensor.empty() : tensor<4x8xf32>
  %bias = linalg.broadcast ins(%b : tensor<8xf32>) outs(%empty : tensor<4x8xf32>) dimensions = [0]
  %0 = linalg.matmul ins(%x, %w : tensor<4x16xf32>, tensor<16x8xf32>) outs(%bias : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @raise_accumulation(
// CHECK-NEXT:    %[[Y:.*]] = tenon.linear %arg0, %arg1 layout<mk_kn>
// CHECK-NEXT:    tenon.add %[[Y]], %arg2 : tensor<4x8xf32>, tensor<4x8xf32>
func.func @raise_accumulation(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = linalg.matmul ins(%x, %w : tensor<4x16xf32>, tensor<16x8xf32>) outs(%c : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
