// RUN: tenon-opt %s --tenon-fuse-epilogue --remarks-filter-passed=tenon-fuse-epilogue -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --implicit-check-not=remark:

// 2 M N bytes a value of f32: 2 * 4 * 8 * 4.
func.func @fuse_static(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK: [[@LINE+1]]:8: remark: [Passed] FuseBias | Category:tenon-fuse-epilogue | Function=fuse_static | BytesSaved=0, Remark="bias fused into the linear of line [[@LINE+1]]"
  %0 = tenon.linear %x, %w, %b : (tensor<4x16xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: [[@LINE+1]]:8: remark: [Passed] FuseElementwise | Category:tenon-fuse-epilogue | Function=fuse_static | BytesSaved=256, Remark="tenon.relu fused into the linear of line [[@LINE-1]]"
  %1 = tenon.relu %0 : tensor<4x8xf32>
  // CHECK: [[@LINE+1]]:8: remark: [Passed] FuseReduction | {{.*}} BytesSaved=256, Remark="tenon.batch_norm_training fused
  %2 = tenon.batch_norm_training %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// With a dynamic batch, bytes of one row: 2 * 8 * 2.
func.func @fuse_dynamic(%x: tensor<?x16xbf16>, %w: tensor<8x16xbf16>) -> tensor<?x8xbf16> {
  %0 = tenon.linear %x, %w : (tensor<?x16xbf16>, tensor<8x16xbf16>) -> tensor<?x8xbf16>
  // CHECK: remark: {{.*}} | Function=fuse_dynamic | BytesSavedPerRow=32, Remark="tenon.relu fused
  %1 = tenon.relu %0 : tensor<?x8xbf16>
  return %1 : tensor<?x8xbf16>
}

// A value that is also a result is still written: its read alone is saved. An
// op that ends two values saves two reads and two writes.
func.func @fuse_shared(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  // CHECK: remark: {{.*}} | BytesSaved=128, Remark="tenon.sigmoid
  %1 = tenon.sigmoid %0 : tensor<4x8xf32>
  // CHECK: remark: {{.*}} | BytesSaved=512, Remark="tenon.mul
  %2 = tenon.mul %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
  // CHECK: remark: {{.*}} | BytesSaved=128, Remark="tenon.relu
  %3 = tenon.relu %2 : tensor<4x8xf32>
  return %2, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}
