// RUN: tenon-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" --split-input-file | FileCheck %s

// Two runs share the workspace, and the second may take its residual's buffer.
// CHECK-LABEL: @two_runs
// CHECK-SAME: %[[X:.*]]: memref<?x32xf32>, %[[W:.*]]: memref<32x32xf32>
func.func @two_runs(%x: tensor<?x32xf32>, %w: tensor<32x32xf32>, %init: tensor<?x32xf32>) -> tensor<?x32xf32> {
  // CHECK: %[[WS:.*]] = memref.alloc() {{.*}} : memref<33554432xi8>
  // CHECK-NOT: memref.alloc
  // CHECK-NOT: memref.copy
  %ws = bufferization.alloc_tensor() : tensor<33554432xi8>
  %plan = blaslt.plan n = 32, k = 32, compute = f32 : f32 -> f32
  // CHECK: blaslt.run {{.*}} workspace(%[[WS]]
  %0 = blaslt.run %plan ins(%x, %w : tensor<?x32xf32>, tensor<32x32xf32>)
      workspace(%ws : tensor<33554432xi8>) outs(%init : tensor<?x32xf32>) -> tensor<?x32xf32>
  %sum = blaslt.plan n = 32, k = 32, compute = f32 residual : f32 -> f32
  // CHECK: blaslt.run {{.*}} residual(%[[Y:.*]] : memref<?x32xf32>) workspace(%[[WS]] : {{.*}}) outs(%[[Y]] :
  %1 = blaslt.run %sum ins(%x, %w : tensor<?x32xf32>, tensor<32x32xf32>) residual(%0 : tensor<?x32xf32>)
      workspace(%ws : tensor<33554432xi8>) outs(%0 : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %1 : tensor<?x32xf32>
}

// -----

// x must not be overwritten while it is read.
// CHECK-LABEL: @x_is_not_y
func.func @x_is_not_y(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  // CHECK: memref.alloc() {{.*}} : memref<32x32xf32>
  %ws = bufferization.alloc_tensor() : tensor<33554432xi8>
  %plan = blaslt.plan n = 32, k = 32, compute = f32 : f32 -> f32
  %0 = blaslt.run %plan ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>)
      workspace(%ws : tensor<33554432xi8>) outs(%x : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %0 : tensor<32x32xf32>
}
