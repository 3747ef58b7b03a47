// RUN: tenon-opt %s --tenon-fuse-epilogue | FileCheck %s

// CHECK-LABEL: func.func @fuse_bias(
// CHECK-SAME:    %[[X:.*]]: tensor<4x16xf32>, %[[W:.*]]: tensor<8x16xf32>, %[[B:.*]]: tensor<8xf32>)
// CHECK-NEXT:    %[[Y:.*]] = tenon.fused_linear %[[X]], %[[W]]
// CHECK-SAME:      epilogue(%[[ACC:.*]]: tensor<4x8xf32>, %[[BIAS:.*]] = %[[B]]: tensor<8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:      %[[S:.*]] = tenon.add %[[ACC]], %[[BIAS]]
// CHECK-NEXT:      tenon.yield %[[S]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]]
func.func @fuse_bias(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w, %b : (tensor<4x16xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// The precision and other attributes stay.
// CHECK-LABEL: func.func @fuse_keeps_attributes(
// CHECK:         tenon.fused_linear %{{.*}}, %{{.*}} precision<tf32> : {{.*}} -> tensor<4x8xf32> attributes {mark = 1 : i64} {
func.func @fuse_keeps_attributes(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w, %b precision<tf32> {mark = 1} : (tensor<4x16xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = tenon.relu %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// A linear without a bias and without consumers is no worse off alone.
// CHECK-LABEL: func.func @no_fuse_lone(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    return
func.func @no_fuse_lone(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
