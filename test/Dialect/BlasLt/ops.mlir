// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s

// CHECK-LABEL: @bare_product
func.func @bare_product(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %ws: tensor<33554432xi8>,
                        %init: tensor<?x32xf32>) -> tensor<?x32xf32> {
  // CHECK: %[[PLAN:.*]] = blaslt.plan n = 32, k = 64, compute = f32 : f32 -> f32
  %plan = blaslt.plan n = 32, k = 64, compute = f32 : f32 -> f32
  // CHECK: blaslt.run %[[PLAN]] ins(%{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<32x64xf32>)
  // CHECK-SAME: workspace(%{{.*}} : tensor<33554432xi8>) outs(%{{.*}} : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = blaslt.run %plan ins(%x, %w : tensor<?x64xf32>, tensor<32x64xf32>)
      workspace(%ws : tensor<33554432xi8>) outs(%init : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// CHECK-LABEL: @everything_on_memrefs
func.func @everything_on_memrefs(%x: memref<?x64xbf16>, %w: memref<32x64xbf16>, %b: memref<32xbf16>,
                                 %c: memref<?x32xbf16>, %ws: memref<33554432xi8>, %y: memref<?x32xbf16>) {
  // CHECK: blaslt.plan n = 32, k = 64, compute = f32 alpha = 2.000000e+00 residual bias activation = relu : bf16 -> bf16
  %plan = blaslt.plan n = 32, k = 64, compute = f32 alpha = 2.0 residual bias activation = relu : bf16 -> bf16
  // CHECK: blaslt.run {{.*}} bias(%{{.*}} : memref<32xbf16>) residual(%{{.*}} : memref<?x32xbf16>)
  blaslt.run %plan ins(%x, %w : memref<?x64xbf16>, memref<32x64xbf16>) bias(%b : memref<32xbf16>)
      residual(%c : memref<?x32xbf16>) workspace(%ws : memref<33554432xi8>) outs(%y : memref<?x32xbf16>)
  return
}

// CHECK-LABEL: @scales
func.func @scales(%x: tensor<?x64xf8E4M3FN>, %w: tensor<32x64xf8E4M3FN>, %s: tensor<?x1xf32>, %t: tensor<32xf32>,
                  %ws: tensor<33554432xi8>, %init: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  // CHECK: blaslt.plan n = 32, k = 64, compute = f32 scales = rows : f8E4M3FN -> bf16
  %plan = blaslt.plan n = 32, k = 64, compute = f32 scales = rows : f8E4M3FN -> bf16
  // CHECK: blaslt.run {{.*}} scales(%{{.*}}, %{{.*}} : tensor<?x1xf32>, tensor<32xf32>) workspace
  %y = blaslt.run %plan ins(%x, %w : tensor<?x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>)
      scales(%s, %t : tensor<?x1xf32>, tensor<32xf32>) workspace(%ws : tensor<33554432xi8>)
      outs(%init : tensor<?x32xbf16>) -> tensor<?x32xbf16>
  return %y : tensor<?x32xbf16>
}

// CHECK-LABEL: @plan_kinds
func.func @plan_kinds() -> !blaslt.plan {
  // CHECK: compute = tf32 activation = gelu_tanh : f32 -> f32
  %0 = blaslt.plan n = 1, k = 0, compute = tf32 activation = gelu_tanh : f32 -> f32
  // CHECK: compute = bf16 : f32 -> f32
  %1 = blaslt.plan n = 1, k = 0, compute = bf16 : f32 -> f32
  // CHECK: compute = f16 : f32 -> f32
  %2 = blaslt.plan n = 1, k = 0, compute = f16 : f32 -> f32
  // CHECK: compute = f64 : f64 -> f64
  %3 = blaslt.plan n = 1, k = 0, compute = f64 : f64 -> f64
  // CHECK: compute = f32 : f16 -> f32
  %4 = blaslt.plan n = 1, k = 0, compute = f32 : f16 -> f32
  return %4 : !blaslt.plan
}
