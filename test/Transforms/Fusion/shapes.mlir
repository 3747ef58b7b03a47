// RUN: tenon-opt %s --tenon-fuse-epilogue | FileCheck %s

// CHECK-LABEL: func.func @fuse_dynamic_rows(
// CHECK-NEXT:    tenon.fused_linear {{.*}} epilogue(%acc: tensor<?x8xf32>, %{{.*}}: tensor<?x1xf32>, %{{.*}}: tensor<?x8xf32>) -> tensor<?x8xf32>
// CHECK-NEXT:      tenon.mul
// CHECK-NEXT:      tenon.add
func.func @fuse_dynamic_rows(%x: tensor<?x16xf32>, %w: tensor<8x16xf32>, %c: tensor<?x1xf32>, %r: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<?x16xf32>, tensor<8x16xf32>) -> tensor<?x8xf32>
  %1 = tenon.mul %0, %c : tensor<?x8xf32>, tensor<?x1xf32>
  %2 = tenon.add %1, %r : tensor<?x8xf32>, tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @fuse_one_row_one_column(
// CHECK-NEXT:    tenon.fused_linear
// CHECK-NEXT:      tenon.add
func.func @fuse_one_row_one_column(%x: tensor<1x16xf32>, %w: tensor<1x16xf32>, %c: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %0 = tenon.linear %x, %w : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x1xf32>
  %1 = tenon.add %0, %c : tensor<1x1xf32>, tensor<1x1xf32>
  return %1 : tensor<1x1xf32>
}

// A product of one row that broadcasts to many.
// CHECK-LABEL: func.func @no_fuse_broadcast_rows(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    tenon.add
func.func @no_fuse_broadcast_rows(%x: tensor<1x16xf32>, %w: tensor<8x16xf32>, %r: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<1x16xf32>, tensor<8x16xf32>) -> tensor<1x8xf32>
  %1 = tenon.add %0, %r : tensor<1x8xf32>, tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// A product of one column that broadcasts to many.
// CHECK-LABEL: func.func @no_fuse_broadcast_columns(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    tenon.mul
func.func @no_fuse_broadcast_columns(%x: tensor<?x16xf32>, %w: tensor<1x16xf32>, %r: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<?x16xf32>, tensor<1x16xf32>) -> tensor<?x1xf32>
  %1 = tenon.mul %r, %0 : tensor<?x8xf32>, tensor<?x1xf32>
  return %1 : tensor<?x8xf32>
}
