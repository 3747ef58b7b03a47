// RUN: tenon-opt %s --tenon-raise-linalg --split-input-file | FileCheck %s --implicit-check-not=linalg.

// The sum of a row over its extent is its mean.
// CHECK-LABEL: func.func @raise_mean(
// CHECK-NEXT:    %[[M:.*]] = tenon.reduce_row mean %arg0 : tensor<?x8xf32>
// CHECK-NEXT:    %[[D:.*]] = tenon.sub %arg0, %[[M]] : tensor<?x8xf32>, tensor<?x1xf32>
// CHECK-NEXT:    return %[[D]]
func.func @raise_mean(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %eight = arith.constant 8.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %rows = tensor.empty(%m) : tensor<?xf32>
  %empty = tensor.empty(%m) : tensor<?x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%rows : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<?x8xf32>) outs(%fill : tensor<?xf32>) dimensions = [1]
  %all = linalg.broadcast ins(%sum : tensor<?xf32>) outs(%empty : tensor<?x8xf32>) dimensions = [1]
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %all : tensor<?x8xf32>, tensor<?x8xf32>) outs(%empty : tensor<?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.divf %b, %eight : f32
    %2 = arith.subf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// The body computes what is reduced; the initial value counts.
// CHECK-LABEL: func.func @raise_body(
// CHECK-NEXT:    %[[S:.*]] = tenon.mul %arg0, %arg0
// CHECK-NEXT:    %[[R:.*]] = tenon.reduce_row max %[[S]]
// CHECK-NEXT:    %[[M:.*]] = tenon.max %[[R]], 1.000000e+00
// CHECK-NEXT:    return %[[M]]
func.func @raise_body(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<4x1xf32>
  %fill = linalg.fill ins(%one : f32) outs(%empty : tensor<4x1xf32>) -> tensor<4x1xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, 0)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%fill : tensor<4x1xf32>) {
  ^bb0(%a: f32, %sofar: f32):
    %1 = arith.mulf %a, %a : f32
    %2 = arith.maximumf %1, %sofar : f32
    linalg.yield %2 : f32
  } -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}

// -----

// CHECK-LABEL: func.func @raise_columns(
// CHECK-NEXT:    tenon.batch_sum %arg0 : (tensor<?x8xf32>) -> tensor<8xf32>
func.func @raise_columns(%x: tensor<?x8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<?x8xf32>) outs(%fill : tensor<8xf32>) dimensions = [0]
  return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @raise_softmax(
// CHECK-NEXT:    %[[M:.*]] = tenon.reduce_row max %arg0
// CHECK-NEXT:    %[[D:.*]] = tenon.sub %arg0, %[[M]]
// CHECK-NEXT:    %[[E:.*]] = tenon.exp %[[D]]
// CHECK-NEXT:    %[[S:.*]] = tenon.reduce_row sum %[[E]]
// CHECK-NEXT:    tenon.div %[[E]], %[[S]]
func.func @raise_softmax(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%m) : tensor<?x8xf32>
  %0 = linalg.softmax dimension(1) ins(%x : tensor<?x8xf32>) outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
