// RUN: tenon-opt %s --tenon-flatten-signatures | FileCheck %s

// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[X:.*]]: tensor<6x8xf32>) -> tensor<6x8xf32>
// CHECK-NEXT: %[[WHOLE:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0, 1], [2]] {{.*}} : tensor<6x8xf32> into tensor<2x3x8xf32>
// CHECK-NEXT: %[[EXP:.*]] = math.exp %[[WHOLE]]
// CHECK-NEXT: %[[ROWS:.*]] = tensor.collapse_shape %[[EXP]]
// CHECK-NEXT: return %[[ROWS]]
func.func @rows(%x: tensor<2x3x8xf32>) -> tensor<2x3x8xf32> {
  %0 = math.exp %x : tensor<2x3x8xf32>
  return %0 : tensor<2x3x8xf32>
}

// CHECK-LABEL: func.func @whole(
// CHECK-SAME: %[[IDS:.*]]: tensor<6x8xf64> {tenon.name = "ids"}, %[[MASK:.*]]: tensor<4xf64>) -> (tensor<6x8xi64>, tensor<4xi1>)
// CHECK-DAG: arith.fptosi %[[IDS]] : tensor<6x8xf64> to tensor<6x8xi64>
// CHECK-DAG: arith.cmpf une, %[[MASK]], %{{.*}} : tensor<4xf64>
func.func @whole(%ids: tensor<2x3x8xi64> {tenon.name = "ids"}, %mask: tensor<4xi1>) -> (tensor<2x3x8xi64>, tensor<4xi1>) {
  return %ids, %mask : tensor<2x3x8xi64>, tensor<4xi1>
}

// What has no known extents, and matrices, stay.

// CHECK-LABEL: func.func @stays(
// CHECK-SAME: tensor<?x3x8xf32>, %{{.*}}: tensor<?x8xf32>, %{{.*}}: tensor<0x3x8xf32>, %{{.*}}: f32)
// CHECK-NEXT: return
func.func @stays(%x: tensor<?x3x8xf32>, %y: tensor<?x8xf32>, %z: tensor<0x3x8xf32>, %s: f32) {
  return
}
