// RUN: tenon-opt %s --tenon-raise-linalg --remarks-filter-missed='tenon-raise-linalg' -o - 2>&1 | FileCheck %s

#rows = affine_map<(m, n) -> (m, n)>
#turned = affine_map<(m, n) -> (n, m)>
#column = affine_map<(m, n) -> (n)>

// CHECK-DAG: missed.mlir:[[#@LINE+5]]:{{.*}}Reason="{{.*}}not a product of one matrix with another{{.*}}Remark="linalg.batch_matmul not raised"
// CHECK-DAG: func.func @no_raise_batch
func.func @no_raise_batch(%x: tensor<2x4x16xf32>, %w: tensor<2x16x8xf32>, %y: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%y : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %0 = linalg.batch_matmul ins(%x, %w : tensor<2x4x16xf32>, tensor<2x16x8xf32>) outs(%fill : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %0 : tensor<2x4x8xf32>
}

// CHECK-DAG: missed.mlir:[[#@LINE+3]]:{{.*}}Reason="{{.*}}more than two loops{{.*}}Remark="linalg.exp not raised", Suggestion="flatten the leading dimensions
func.func @no_raise_rank(%x: tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
  %empty = tensor.empty() : tensor<2x4x16xf32>
  %0 = linalg.exp ins(%x : tensor<2x4x16xf32>) outs(%empty : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  return %0 : tensor<2x4x16xf32>
}

// CHECK-DAG: missed.mlir:[[#@LINE+3]]:{{.*}}Reason="{{.*}}tensor<4x?xf32> is none of tenon's tensors{{.*}}Remark="linalg.exp not raised"
func.func @no_raise_dynamic(%x: tensor<4x?xf32>, %y: tensor<4x?xf32>) -> tensor<4x?xf32> {
  // The extent of columns is not known.
  %0 = linalg.exp ins(%x : tensor<4x?xf32>) outs(%y : tensor<4x?xf32>) -> tensor<4x?xf32>
  return %0 : tensor<4x?xf32>
}

// CHECK-DAG: missed.mlir:[[#@LINE+3]]:{{.*}}Reason="{{.*}}another order than by rows and columns{{.*}}Remark="linalg.generic not raised"
func.func @no_raise_order(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> tensor<4x8xf32> {
  %empty = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#rows, #turned, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<4x8xf32>, tensor<8x4xf32>) outs(%empty : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-DAG: missed.mlir:[[#@LINE+3]]:{{.*}}Reason="{{.*}}no tenon op computes linalg.index of its body{{.*}}Remark="linalg.generic not raised"
func.func @no_raise_index() -> tensor<4x8xf32> {
  %empty = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#rows], iterator_types = ["parallel", "parallel"]}
      outs(%empty : tensor<4x8xf32>) {
  ^bb0(%out: f32):
    %1 = linalg.index 0 : index
    %2 = arith.index_cast %1 : index to i32
    %3 = arith.sitofp %2 : i32 to f32
    linalg.yield %3 : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-DAG: missed.mlir:[[#@LINE+3]]:{{.*}}Reason="{{.*}}it repeats a tensor{{.*}}Remark="linalg.broadcast not raised"
func.func @no_raise_broadcast(%b: tensor<8xf32>) -> tensor<4x8xf32> {
  %empty = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.broadcast ins(%b : tensor<8xf32>) outs(%empty : tensor<4x8xf32>) dimensions = [0]
  return %0 : tensor<4x8xf32>
}

// CHECK-DAG: missed.mlir:[[#@LINE+3]]:{{.*}}Reason="{{.*}}it reduces otherwise{{.*}}Remark="linalg.reduce not raised"
func.func @no_raise_product_of_rows(%x: tensor<4x8xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // Tenon has no product of a row.
  %0 = linalg.reduce { arith.mulf } ins(%x : tensor<4x8xf32>) outs(%y : tensor<4xf32>) dimensions = [1]
  return %0 : tensor<4xf32>
}

// CHECK-DAG: missed.mlir:[[#@LINE+3]]:{{.*}}Reason="{{.*}}a dynamic extent that a weight{{.*}}cannot have{{.*}}Remark="linalg.matmul not raised"
func.func @no_raise_dynamic_weight(%x: tensor<4x16xf32>, %w: tensor<?x16xf32>, %y: tensor<4x?xf32>) -> tensor<4x?xf32> {
  // N is not known.
  %0 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %w : tensor<4x16xf32>, tensor<?x16xf32>) outs(%y : tensor<4x?xf32>) -> tensor<4x?xf32>
  return %0 : tensor<4x?xf32>
}

// CHECK-DAG: missed.mlir:[[#@LINE+2]]:{{.*}}Reason="{{.*}}it works on buffers{{.*}}Remark="linalg.exp not raised"
func.func @no_raise_buffers(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  linalg.exp ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>)
  return
}
