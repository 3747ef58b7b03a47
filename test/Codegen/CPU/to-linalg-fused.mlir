// RUN: tenon-opt %s --tenon-to-linalg --split-input-file | FileCheck %s --implicit-check-not=tenon.

// One loop for all ops; what is used outside too is one more output. Inside,
// nothing is rounded to f16.

// CHECK-LABEL: func.func @one_loop(
// CHECK: %[[ACC:.*]] = linalg.matmul
// CHECK: %[[Y:.*]]:2 = linalg.generic {{.*}} ins(%[[ACC]], %{{.*}} : tensor<?x32xf32>, tensor<32xf16>)
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[SUM]]
// CHECK: %[[RELU:.*]] = arith.maximumf %[[PRODUCT]]
// CHECK-DAG: %[[FIRST:.*]] = arith.truncf %[[RELU]] : f32 to f16
// CHECK-DAG: %[[SECOND:.*]] = arith.truncf %[[SUM]] : f32 to f16
// CHECK: linalg.yield %[[SECOND]], %[[FIRST]]
// CHECK-NOT: linalg.generic
// CHECK: return %[[Y]]#1, %[[Y]]#0
func.func @one_loop(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %b: tensor<32xf16>) -> (tensor<?x32xf16>, tensor<?x32xf16>) {
  %0:2 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %bias = %b: tensor<32xf16>) -> (tensor<?x32xf16>, tensor<?x32xf16>) {
    %1 = tenon.add %acc, %bias : tensor<?x32xf16>, tensor<32xf16>
    %2 = tenon.mul %1, 3.0 : tensor<?x32xf16>
    %3 = tenon.relu %2 : tensor<?x32xf16>
    tenon.yield %3, %1 : tensor<?x32xf16>, tensor<?x32xf16>
  }
  return %0#0, %0#1 : tensor<?x32xf16>, tensor<?x32xf16>
}

// -----

// An op on a parameter has its own small loop and does not cut the large one.

// CHECK-LABEL: func.func @parameter_op(
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<32xf32>)
// CHECK: linalg.generic {{.*}} outs({{.*}} : tensor<8x32xf32>)
// CHECK: arith.addf
// CHECK: arith.mulf
// CHECK-NOT: linalg.generic
func.func @parameter_op(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<8x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<8x32xf32>, %p = %b: tensor<32xf32>) -> tensor<8x32xf32> {
    %1 = tenon.add %acc, %p : tensor<8x32xf32>, tensor<32xf32>
    %2 = tenon.sigmoid %p : tensor<32xf32>
    %3 = tenon.mul %1, %2 : tensor<8x32xf32>, tensor<32xf32>
    tenon.yield %3 : tensor<8x32xf32>
  }
  return %0 : tensor<8x32xf32>
}

// -----

// The product itself as a result is rounded on its own.

// CHECK-LABEL: func.func @yields_product(
// CHECK: %[[ACC:.*]] = linalg.matmul
// CHECK: linalg.generic {{.*}} ins(%[[ACC]] : tensor<8x32xf32>) outs({{.*}} : tensor<8x32xf16>)
// CHECK: arith.maximumf
// CHECK: linalg.generic {{.*}} ins(%[[ACC]] : tensor<8x32xf32>) outs({{.*}} : tensor<8x32xf16>)
// CHECK-NEXT: ^bb0(%[[IN:.*]]: f32,
// CHECK-NEXT: arith.truncf %[[IN]]
func.func @yields_product(%x: tensor<8x64xf16>, %w: tensor<32x64xf16>) -> (tensor<8x32xf16>, tensor<8x32xf16>) {
  %0:2 = tenon.fused_linear %x, %w : tensor<8x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<8x32xf16>) -> (tensor<8x32xf16>, tensor<8x32xf16>) {
    %1 = tenon.relu %acc : tensor<8x32xf16>
    tenon.yield %1, %acc : tensor<8x32xf16>, tensor<8x32xf16>
  }
  return %0#0, %0#1 : tensor<8x32xf16>, tensor<8x32xf16>
}

// -----

// A cast inside rounds nothing; what is yielded is rounded.

// CHECK-LABEL: func.func @casts(
// CHECK: linalg.generic
// CHECK-NOT: arith.truncf
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK-DAG: %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : f32 to f16
// CHECK-DAG: %[[TANH:.*]] = math.tanh %[[SUM]] : f32
// CHECK: linalg.yield %[[ROUNDED]], %[[TANH]] : f16, f32
// CHECK-NOT: linalg.generic
func.func @casts(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xbf16>) -> (tensor<?x32xf32>, tensor<?x32xf16>) {
  %0:2 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<?x32xbf16>, %bias = %b: tensor<32xbf16>) -> (tensor<?x32xf32>, tensor<?x32xf16>) {
    %1 = tenon.add %acc, %bias : tensor<?x32xbf16>, tensor<32xbf16>
    %2 = tenon.cast %1 : tensor<?x32xbf16> -> tensor<?x32xf16>
    %3 = tenon.cast %2 : tensor<?x32xf16> -> tensor<?x32xf32>
    %4 = tenon.tanh %3 : tensor<?x32xf32>
    tenon.yield %4, %2 : tensor<?x32xf32>, tensor<?x32xf16>
  }
  return %0#0, %0#1 : tensor<?x32xf32>, tensor<?x32xf16>
}
