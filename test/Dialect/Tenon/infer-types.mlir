// The type of a binary op's result follows from its operands (binary-R2): the
// CHECK lines show the type that a use of the result has.
// RUN: tenon-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: @static
func.func @static(%mn: tensor<4x8xf32>, %n: tensor<8xf32>, %m1: tensor<4x1xf32>, %s: tensor<f32>, %r1n: tensor<1x8xf32>, %one: tensor<1xf32>) {
  // CHECK: %[[A:.*]] = tenon.add %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tenon.relu %[[A]] : tensor<4x8xf32>
  %0 = tenon.add %mn, %n : tensor<4x8xf32>, tensor<8xf32>
  %1 = tenon.relu %0 : tensor<4x8xf32>
  // CHECK: %[[A:.*]] = tenon.add %{{.*}} : tensor<4x8xf32>, tensor<4x1xf32>
  // CHECK: tenon.relu %[[A]] : tensor<4x8xf32>
  %2 = tenon.add %mn, %m1 : tensor<4x8xf32>, tensor<4x1xf32>
  %3 = tenon.relu %2 : tensor<4x8xf32>
  // CHECK: %[[A:.*]] = tenon.add %{{.*}} : tensor<4x8xf32>, tensor<f32>
  // CHECK: tenon.relu %[[A]] : tensor<4x8xf32>
  %4 = tenon.add %mn, %s : tensor<4x8xf32>, tensor<f32>
  %5 = tenon.relu %4 : tensor<4x8xf32>
  // The first operand may be the smaller one.
  // CHECK: %[[A:.*]] = tenon.sub %{{.*}} : tensor<8xf32>, tensor<4x8xf32>
  // CHECK: tenon.relu %[[A]] : tensor<4x8xf32>
  %6 = tenon.sub %n, %mn : tensor<8xf32>, tensor<4x8xf32>
  %7 = tenon.relu %6 : tensor<4x8xf32>
  // Both may widen.
  // CHECK: %[[A:.*]] = tenon.mul %{{.*}} : tensor<4x1xf32>, tensor<1x8xf32>
  // CHECK: tenon.relu %[[A]] : tensor<4x8xf32>
  %8 = tenon.mul %m1, %r1n : tensor<4x1xf32>, tensor<1x8xf32>
  %9 = tenon.relu %8 : tensor<4x8xf32>
  // CHECK: %[[A:.*]] = tenon.mul %{{.*}} : tensor<4x1xf32>, tensor<8xf32>
  // CHECK: tenon.relu %[[A]] : tensor<4x8xf32>
  %10 = tenon.mul %m1, %n : tensor<4x1xf32>, tensor<8xf32>
  %11 = tenon.relu %10 : tensor<4x8xf32>
  // CHECK: %[[A:.*]] = tenon.mul %{{.*}} : tensor<f32>, tensor<1xf32>
  // CHECK: tenon.relu %[[A]] : tensor<1xf32>
  %12 = tenon.mul %s, %one : tensor<f32>, tensor<1xf32>
  %13 = tenon.relu %12 : tensor<1xf32>
  // CHECK: %[[A:.*]] = tenon.mul %{{.*}} : tensor<f32>, tensor<f32>
  // CHECK: tenon.relu %[[A]] : tensor<f32>
  %14 = tenon.mul %s, %s : tensor<f32>, tensor<f32>
  %15 = tenon.relu %14 : tensor<f32>
  return
}

// -----

// CHECK-LABEL: @dynamic
func.func @dynamic(%mn: tensor<?x8xf32>, %m1: tensor<?x1xf32>, %n: tensor<8xf32>, %r1n: tensor<1x8xf32>) {
  // CHECK: %[[A:.*]] = tenon.max %{{.*}} : tensor<?x8xf32>, tensor<?x1xf32>
  // CHECK: tenon.relu %[[A]] : tensor<?x8xf32>
  %0 = tenon.max %mn, %m1 : tensor<?x8xf32>, tensor<?x1xf32>
  %1 = tenon.relu %0 : tensor<?x8xf32>
  // CHECK: %[[A:.*]] = tenon.max %{{.*}} : tensor<?x1xf32>, tensor<8xf32>
  // CHECK: tenon.relu %[[A]] : tensor<?x8xf32>
  %2 = tenon.max %m1, %n : tensor<?x1xf32>, tensor<8xf32>
  %3 = tenon.relu %2 : tensor<?x8xf32>
  // CHECK: %[[A:.*]] = tenon.max %{{.*}} : tensor<1x8xf32>, tensor<?x8xf32>
  // CHECK: tenon.relu %[[A]] : tensor<?x8xf32>
  %4 = tenon.max %r1n, %mn : tensor<1x8xf32>, tensor<?x8xf32>
  %5 = tenon.relu %4 : tensor<?x8xf32>
  return
}

// -----

// The element type is the first tensor's, on either side of a constant too.
// CHECK-LABEL: @element_types
func.func @element_types(%h: tensor<?x8xbf16>, %n: tensor<8xf32>) {
  // CHECK: %[[A:.*]] = tenon.mul %{{.*}} : tensor<?x8xbf16>, tensor<8xf32>
  // CHECK: tenon.relu %[[A]] : tensor<?x8xbf16>
  %0 = tenon.mul %h, %n : tensor<?x8xbf16>, tensor<8xf32>
  %1 = tenon.relu %0 : tensor<?x8xbf16>
  // CHECK: %[[A:.*]] = tenon.mul %{{.*}} : tensor<8xf32>, tensor<?x8xbf16>
  // CHECK: tenon.relu %[[A]] : tensor<?x8xf32>
  %2 = tenon.mul %n, %h : tensor<8xf32>, tensor<?x8xbf16>
  %3 = tenon.relu %2 : tensor<?x8xf32>
  // CHECK: %[[A:.*]] = tenon.sub 1.000000e+00, %{{.*}} : tensor<?x8xbf16>
  // CHECK: tenon.relu %[[A]] : tensor<?x8xbf16>
  %4 = tenon.sub 1.0, %h : tensor<?x8xbf16>
  %5 = tenon.relu %4 : tensor<?x8xbf16>
  return
}
