// RUN: tenon-opt %s --tenon-flatten-loops --canonicalize | FileCheck %s
// RUN: tenon-opt %s --tenon-raise-pipeline | FileCheck %s --check-prefix=RAISED

#all = affine_map<(b, m, n) -> (b, m, n)>
#last = affine_map<(b, m, n) -> (n)>
#rows = affine_map<(b, m, n) -> (b, m)>
#middle = affine_map<(b, m, n) -> (b, n)>

// A layer of rows in two dimensions is one of matrices.

// CHECK-LABEL: func.func @layer(
// CHECK: linalg.fill {{.*}} -> tensor<6x8xf32>
// CHECK: linalg.generic {{.*}} ins({{.*}} : tensor<6x16xf32>, tensor<16x8xf32>) outs({{.*}} : tensor<6x8xf32>)
// CHECK-NOT: expand_shape
// CHECK: linalg.generic {{.*}} ins({{.*}} : tensor<6x8xf32>, tensor<8xf32>)
// CHECK: tensor.expand_shape {{.*}} : tensor<6x8xf32> into tensor<2x3x8xf32>

// RAISED-LABEL: func.func @layer(
// RAISED-SAME: %[[X:[^:]*]]: tensor<6x16xf32>, %[[W:[^:]*]]: tensor<16x8xf32>, %[[B:[^:]*]]: tensor<8xf32>) -> tensor<6x8xf32>
// RAISED-NEXT: tenon.linear %[[X]], %[[W]] layout<mk_kn>
// RAISED-NEXT: tenon.add
// RAISED-NEXT: return
func.func @layer(%x: tensor<2x3x16xf32>, %w: tensor<16x8xf32>, %b: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x3x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<2x3x16xf32>, tensor<16x8xf32>) outs(%fill : tensor<2x3x8xf32>) {
  ^bb0(%a: f32, %c: f32, %sum: f32):
    %2 = arith.mulf %a, %c : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x3x8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #last, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%0, %b : tensor<2x3x8xf32>, tensor<8xf32>) outs(%empty : tensor<2x3x8xf32>) {
  ^bb0(%a: f32, %c: f32, %out: f32):
    %2 = arith.addf %a, %c : f32
    linalg.yield %2 : f32
  } -> tensor<2x3x8xf32>
  return %1 : tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @named_and_reduced(
// CHECK: linalg.generic {{.*}} ins({{.*}} : tensor<6x8xf32>) outs({{.*}} : tensor<6xf32>)
// RAISED-LABEL: func.func @named_and_reduced(
// RAISED: tenon.exp {{.*}} : tensor<6x8xf32>
// RAISED: tenon.reduce_row max {{.*}} : tensor<6x8xf32>
// RAISED-NOT: linalg
// RAISED: return
func.func @named_and_reduced(%x: tensor<2x3x8xf32>) -> tensor<2x3xf32> {
  %least = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<2x3x8xf32>
  %column = tensor.empty() : tensor<2x3xf32>
  %fill = linalg.fill ins(%least : f32) outs(%column : tensor<2x3xf32>) -> tensor<2x3xf32>
  %0 = linalg.exp ins(%x : tensor<2x3x8xf32>) outs(%empty : tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #rows], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%0 : tensor<2x3x8xf32>) outs(%fill : tensor<2x3xf32>) {
  ^bb0(%a: f32, %sofar: f32):
    %2 = arith.maximumf %a, %sofar : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// A tensor that has one of the loops alone, another order, an index or a
// constant keeps all.

// CHECK-LABEL: func.func @stays(
// CHECK: linalg.generic {{.*}} ins({{.*}} : tensor<2x3x8xf32>, tensor<2x8xf32>)
// CHECK: linalg.batch_matmul
// CHECK: linalg.transpose
// CHECK: linalg.index
// CHECK: linalg.generic {{.*}} ins({{.*}} : tensor<2x3x1xf32>)
func.func @stays(%x: tensor<2x3x8xf32>, %y: tensor<2x8xf32>, %w: tensor<2x8x8xf32>, %z: tensor<2x3x1xf32>)
    -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<3x2x8xf32>, tensor<2x3x8xindex>, tensor<2x3x8xf32>) {
  %empty = tensor.empty() : tensor<2x3x8xf32>
  %turned = tensor.empty() : tensor<3x2x8xf32>
  %indices = tensor.empty() : tensor<2x3x8xindex>
  %0 = linalg.generic {indexing_maps = [#all, #middle, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %y : tensor<2x3x8xf32>, tensor<2x8xf32>) outs(%empty : tensor<2x3x8xf32>) {
  ^bb0(%a: f32, %c: f32, %out: f32):
    %4 = arith.addf %a, %c : f32
    linalg.yield %4 : f32
  } -> tensor<2x3x8xf32>
  %1 = linalg.batch_matmul ins(%x, %w : tensor<2x3x8xf32>, tensor<2x8x8xf32>) outs(%0 : tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %2 = linalg.transpose ins(%x : tensor<2x3x8xf32>) outs(%turned : tensor<3x2x8xf32>) permutation = [1, 0, 2]
  %3 = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel", "parallel", "parallel"]}
      outs(%indices : tensor<2x3x8xindex>) {
  ^bb0(%out: index):
    %4 = linalg.index 1 : index
    linalg.yield %4 : index
  } -> tensor<2x3x8xindex>
  %5 = linalg.generic {indexing_maps = [affine_map<(b, m, n) -> (b, m, 0)>, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%z : tensor<2x3x1xf32>) outs(%empty : tensor<2x3x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    linalg.yield %a : f32
  } -> tensor<2x3x8xf32>
  return %0, %1, %2, %3, %5 : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<3x2x8xf32>, tensor<2x3x8xindex>, tensor<2x3x8xf32>
}
