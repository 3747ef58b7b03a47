// RUN: tenon-opt %s --tenon-fuse-epilogue | FileCheck %s

// The example of the pass's description.
// CHECK-LABEL: func.func @fuse_chain(
// CHECK-NEXT:    %[[Y:.*]] = tenon.fused_linear
// CHECK-NEXT:      %[[A:.*]] = tenon.add %acc, %{{.*}} : tensor<?x8192xf32>, tensor<8192xf32>
// CHECK-NEXT:      %[[M:.*]] = tenon.mul %[[A]], 2.0
// CHECK-NEXT:      %[[L:.*]] = tenon.leaky_relu %[[M]] {negative_slope = 1.000000e-01 : f64}
// CHECK-NEXT:      tenon.yield %[[L]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[Y]]
func.func @fuse_chain(%x: tensor<?x8192xf32>, %w: tensor<8192x8192xf32> {tenon.param},
                      %b: tensor<8192xf32> {tenon.param}) -> tensor<?x8192xf32> {
  %0 = tenon.linear %x, %w, %b
      : (tensor<?x8192xf32>, tensor<8192x8192xf32>, tensor<8192xf32>) -> tensor<?x8192xf32>
  %1 = tenon.mul %0, 2.0 : tensor<?x8192xf32>
  %2 = tenon.leaky_relu %1 {negative_slope = 0.1} : tensor<?x8192xf32>
  return %2 : tensor<?x8192xf32>
}

// Every elementwise op takes part.
// CHECK-LABEL: func.func @fuse_all_ops(
// CHECK-NOT:     tenon.linear
// CHECK:         tenon.fused_linear
// CHECK-COUNT-15:  tenon.{{[a-z_]+}} %{{.*}}
// CHECK:           tenon.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    return
func.func @fuse_all_ops(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %v: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.add %0, %v : tensor<4x8xf32>, tensor<8xf32>
  %2 = tenon.sub %1, 0.5 : tensor<4x8xf32>
  %3 = tenon.mul %2, %v : tensor<4x8xf32>, tensor<8xf32>
  %4 = tenon.div %3, %v : tensor<4x8xf32>, tensor<8xf32>
  %5 = tenon.min %4, 6.0 : tensor<4x8xf32>
  %6 = tenon.max %5, -6.0 : tensor<4x8xf32>
  %7 = tenon.relu %6 : tensor<4x8xf32>
  %8 = tenon.leaky_relu %7 : tensor<4x8xf32>
  %9 = tenon.gelu %8 : tensor<4x8xf32>
  %10 = tenon.silu %9 : tensor<4x8xf32>
  %11 = tenon.mish %10 : tensor<4x8xf32>
  %12 = tenon.sigmoid %11 : tensor<4x8xf32>
  %13 = tenon.tanh %12 : tensor<4x8xf32>
  %14 = tenon.clamp %13 {min = -1.0, max = 1.0} : tensor<4x8xf32>
  %15 = tenon.batch_norm_inference %14 stats(%v, %v) : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return %15 : tensor<4x8xf32>
}

// Operands of every broadcast shape, on either side; each value is taken once.
// CHECK-LABEL: func.func @fuse_broadcast_operands(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x16xf32>, %[[W:[a-z0-9]+]]: tensor<8x16xf32>, %[[S:[a-z0-9]+]]: tensor<f32>,
// CHECK-SAME:    %[[V:[a-z0-9]+]]: tensor<8xf32>, %[[C:[a-z0-9]+]]: tensor<4x1xf32>, %[[R:[a-z0-9]+]]: tensor<4x8xf32>)
// CHECK-NEXT:    tenon.fused_linear %[[X]], %[[W]]
// CHECK-SAME:      epilogue(%acc: tensor<4x8xf32>, %[[BS:.*]] = %[[S]]: tensor<f32>, %[[BV:.*]] = %[[V]]: tensor<8xf32>,
// CHECK-SAME:      %[[BC:.*]] = %[[C]]: tensor<4x1xf32>, %[[BR:.*]] = %[[R]]: tensor<4x8xf32>)
// CHECK-NEXT:      %[[A:.*]] = tenon.mul %acc, %[[BS]]
// CHECK-NEXT:      %[[B:.*]] = tenon.sub %[[BV]], %[[A]]
// CHECK-NEXT:      %[[D:.*]] = tenon.div %[[B]], %[[BC]]
// CHECK-NEXT:      %[[E:.*]] = tenon.add %[[BR]], %[[D]]
// CHECK-NEXT:      tenon.mul %[[E]], %[[BV]]
func.func @fuse_broadcast_operands(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %s: tensor<f32>, %v: tensor<8xf32>,
                                   %c: tensor<4x1xf32>, %r: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.mul %0, %s : tensor<4x8xf32>, tensor<f32>
  %2 = tenon.sub %v, %1 : tensor<8xf32>, tensor<4x8xf32>
  %3 = tenon.div %2, %c : tensor<4x8xf32>, tensor<4x1xf32>
  %4 = tenon.add %r, %3 : tensor<4x8xf32>, tensor<4x8xf32>
  %5 = tenon.mul %4, %v : tensor<4x8xf32>, tensor<8xf32>
  return %5 : tensor<4x8xf32>
}

// An op joins a fused op that exists already.
// CHECK-LABEL: func.func @fuse_into_fused(
// CHECK-NEXT:    tenon.fused_linear
// CHECK-NEXT:      tenon.relu
// CHECK-NEXT:      tenon.tanh
// CHECK-NEXT:      tenon.yield
func.func @fuse_into_fused(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<4x16xf32>, tensor<8x16xf32>
      epilogue(%acc: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %2 = tenon.relu %acc : tensor<4x8xf32>
    tenon.yield %2 : tensor<4x8xf32>
  }
  %1 = tenon.tanh %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// What nothing reads is not fused but removed.
// CHECK-LABEL: func.func @no_fuse_dead(
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    return
func.func @no_fuse_dead(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.relu %0 : tensor<4x8xf32>
  %2 = tenon.tanh %1 : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Without a linear there is nothing to fuse into.
// CHECK-LABEL: func.func @no_fuse_without_linear(
// CHECK-NEXT:    tenon.relu
// CHECK-NEXT:    tenon.tanh
// CHECK-NEXT:    return
func.func @no_fuse_without_linear(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = tenon.relu %x : tensor<4x16xf32>
  %1 = tenon.tanh %0 : tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}
