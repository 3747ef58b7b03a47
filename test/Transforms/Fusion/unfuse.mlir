// RUN: tenon-opt %s --tenon-unfuse | FileCheck %s

// CHECK-NOT: tenon.fused_linear
// CHECK-NOT: tenon.yield

// CHECK-LABEL: func.func @unfuse_bias(
// CHECK-SAME:    %[[X:.*]]: tensor<?x64xf32>, %[[W:.*]]: tensor<32x64xf32>, %[[B:.*]]: tensor<32xf32>)
// CHECK-NEXT:    %[[L:.*]] = tenon.linear %[[X]], %[[W]] precision<bf16> {mark = 1 : i64}
// CHECK-SAME:      : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
// CHECK-NEXT:    %[[A:.*]] = tenon.add %[[L]], %[[B]]
// CHECK-NEXT:    %[[R:.*]] = tenon.relu %[[A]]
// CHECK-NEXT:    return %[[R]]
func.func @unfuse_bias(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  %0 = tenon.fused_linear %x, %w precision<bf16> : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %bias = %b: tensor<32xf32>) -> tensor<?x32xf32> attributes {mark = 1} {
    %1 = tenon.add %acc, %bias : tensor<?x32xf32>, tensor<32xf32>
    %2 = tenon.relu %1 : tensor<?x32xf32>
    tenon.yield %2 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// Results in another order, the product and an operand among them.
// CHECK-LABEL: func.func @unfuse_results(
// CHECK-SAME:    %[[R:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-NEXT:    %[[L:.*]] = tenon.linear
// CHECK-NEXT:    %[[T:.*]] = tenon.tanh %[[L]]
// CHECK-NEXT:    return %[[T]], %[[L]], %[[R]]
func.func @unfuse_results(%r: tensor<4x8xf32>, %x: tensor<4x16xf32>, %w: tensor<8x16xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0:3 = tenon.fused_linear %x, %w : tensor<4x16xf32>, tensor<8x16xf32>
      epilogue(%acc: tensor<4x8xf32>, %operand = %r: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
    %1 = tenon.tanh %acc : tensor<4x8xf32>
    tenon.yield %1, %acc, %operand : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// Per-column results.
// CHECK-LABEL: func.func @unfuse_reduction(
// CHECK-NEXT:    %[[L:.*]] = tenon.linear
// CHECK-NEXT:    %[[Y:.*]], %[[S:.*]]:2 = tenon.batch_norm_training %[[L]]
// CHECK-NEXT:    return %[[S]]#1, %[[Y]]
func.func @unfuse_reduction(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %m: tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
  %0:2 = tenon.fused_linear %x, %w : tensor<4x16xf32>, tensor<8x16xf32>
      epilogue(%acc: tensor<4x8xf32>, %s = %m: tensor<8xf32>) -> (tensor<8xf32>, tensor<4x8xf32>) {
    %y, %mean, %var = tenon.batch_norm_training %acc running(%s, %s)
        : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    tenon.yield %var, %y : tensor<8xf32>, tensor<4x8xf32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<4x8xf32>
}
