// RUN: tenon-opt %s --tenon-fuse-epilogue | FileCheck %s

// Inside control flow fusion works as outside.
// CHECK-LABEL: func.func @fuse_in_region(
// CHECK:         scf.if
// CHECK-NEXT:      tenon.fused_linear
// CHECK-NEXT:        tenon.relu
func.func @fuse_in_region(%c: i1, %x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = scf.if %c -> tensor<4x8xf32> {
    %1 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
    %2 = tenon.relu %1 : tensor<4x8xf32>
    scf.yield %2 : tensor<4x8xf32>
  } else {
    scf.yield %y : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// An op that runs on one path only stays on it.
// CHECK-LABEL: func.func @no_fuse_nested_consumer(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      tenon.relu
func.func @no_fuse_nested_consumer(%c: i1, %x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = scf.if %c -> tensor<4x8xf32> {
    %2 = tenon.relu %0 : tensor<4x8xf32>
    scf.yield %2 : tensor<4x8xf32>
  } else {
    scf.yield %0 : tensor<4x8xf32>
  }
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @no_fuse_other_block(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    cf.cond_br
// CHECK:         tenon.relu
func.func @no_fuse_other_block(%c: i1, %x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %1 = tenon.relu %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
^bb2:
  return %0 : tensor<4x8xf32>
}
