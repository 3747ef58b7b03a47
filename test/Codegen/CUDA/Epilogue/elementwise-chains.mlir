// Chains of elementwise ops and batch norms without a product in front, on activations and on
// parameters, become kernels.
// RUN: tenon-compile %s --target=sm_90a --stop-after=cuda-kernels | FileCheck %s

// One kernel for what is computed at the end, one for what is returned on the way.
// CHECK-LABEL: func.func @chain
// CHECK: tenon.launch @kernels::@chain_map_v8
// CHECK: tenon.launch @kernels::@chain_map_v8_1
func.func @chain(%x: tensor<?x8xbf16>, %c: tensor<?x1xbf16>, %s: tensor<bf16>) -> (tensor<?x8xbf16>, tensor<?x8xbf16>) {
  %0 = tenon.sub %s, %x : tensor<bf16>, tensor<?x8xbf16>
  %1 = tenon.div %c, %0 : tensor<?x1xbf16>, tensor<?x8xbf16>
  %2 = tenon.relu %1 : tensor<?x8xbf16>
  %3 = tenon.silu %2 : tensor<?x8xbf16>
  return %1, %3 : tensor<?x8xbf16>, tensor<?x8xbf16>
}

// Bufferization once took a new epilogue for an op that it had seen.
// CHECK-LABEL: func.func @batch_norm
// CHECK: tenon.launch @kernels::@batch_norm_reduce
// CHECK: tenon.launch @kernels::@batch_norm_map
// CHECK: tenon.launch @kernels::@batch_norm_map
// CHECK: blaslt.run
func.func @batch_norm(%x: tensor<?x8xbf16>, %s: tensor<8xbf16>, %w: tensor<8x8xbf16>)
    -> (tensor<?x8xbf16>, tensor<8xbf16>, tensor<8xbf16>) {
  %0, %1, %2 = tenon.batch_norm_training %x running(%s, %s)
      : (tensor<?x8xbf16>, tensor<8xbf16>, tensor<8xbf16>) -> (tensor<?x8xbf16>, tensor<8xbf16>, tensor<8xbf16>)
  %3 = tenon.leaky_relu %0 : tensor<?x8xbf16>
  %4 = tenon.linear %3, %w : (tensor<?x8xbf16>, tensor<8x8xbf16>) -> (tensor<?x8xbf16>)
  return %4, %1, %2 : tensor<?x8xbf16>, tensor<8xbf16>, tensor<8xbf16>
}

// A weight is scaled by row, cast and used, in prepare.
// CHECK-LABEL: func.func @parameters_prepare
// CHECK: tenon.launch @kernels::@parameters_prepare_map_v4
// CHECK-LABEL: func.func @parameters_run
// CHECK-NOT: tenon.launch
func.func @parameters(%x: tensor<?x8xbf16>, %w: tensor<16x8xf32> {tenon.param}, %s: tensor<16x1xf32> {tenon.param}) -> tensor<?x16xbf16> {
  %0 = tenon.tanh %s : tensor<16x1xf32>
  %1 = tenon.mul %0, %w : tensor<16x1xf32>, tensor<16x8xf32>
  %2 = tenon.cast %1 : tensor<16x8xf32> -> tensor<16x8xbf16>
  %3 = tenon.linear %x, %2 : (tensor<?x8xbf16>, tensor<16x8xbf16>) -> tensor<?x16xbf16>
  return %3 : tensor<?x16xbf16>
}

// A constant that is returned, or that a product reads, is written by a kernel; another op's operand is in its code.
// CHECK-LABEL: func.func @constants
// CHECK: tenon.launch @kernels::@constants_map_v4 {{.*}} : memref<5x4xf32>
// CHECK: tenon.launch @kernels::@constants_map_v8 {{.*}} : memref<8x8xbf16>
// CHECK: blaslt.run {{.*}} : memref<?x8xbf16>, memref<8x8xbf16>
// CHECK: tenon.launch @kernels::@constants_map_v4_1 {{.*}} args(%y : memref<6x4xf32>
// CHECK-LABEL: llvm.func @constants_map_v4(
// CHECK: arith.constant dense<2.000000e+00> : vector<4xf32>
// CHECK-LABEL: llvm.func @constants_map_v8(
// CHECK: arith.constant dense<5.000000e-01> : vector<8xbf16>
// CHECK-LABEL: llvm.func @constants_map_v4_1(
// CHECK: %[[THREE:.*]] = arith.constant 3.000000e+00 : f32
// CHECK: arith.maximumf %{{.*}}, %[[THREE]]
func.func @constants(%x: tensor<?x8xbf16>, %y: tensor<6x4xf32>) -> (tensor<?x8xbf16>, tensor<5x4xf32>, tensor<6x4xf32>) {
  %w = arith.constant dense<0.5> : tensor<8x8xbf16>
  %0 = tenon.linear %x, %w : (tensor<?x8xbf16>, tensor<8x8xbf16>) -> tensor<?x8xbf16>
  %1 = arith.constant dense<2.0> : tensor<5x4xf32>
  %c = arith.constant dense<3.0> : tensor<6x4xf32>
  %2 = arith.maximumf %y, %c : tensor<6x4xf32>
  return %0, %1, %2 : tensor<?x8xbf16>, tensor<5x4xf32>, tensor<6x4xf32>
}
