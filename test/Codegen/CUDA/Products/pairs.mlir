// Two layers with a schedule of two weights become one op: the gate's product, operands and ops join the other layer's.
// RUN: tenon-opt %s --tenon-to-tiled --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: @gated
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xbf16>, %[[W:.*]]: tensor<32x64xbf16>, %[[V:.*]]: tensor<32x64xbf16>, %[[B:.*]]: tensor<32xbf16>, %[[R:.*]]: tensor<?x32xbf16>)
// CHECK: %[[O:.*]] = tensor.empty
// CHECK: %[[Y:.*]] = tenon.tiled_linear %[[X]], %[[W]], %[[V]] : tensor<?x64xbf16>, tensor<32x64xbf16>, tensor<32x64xbf16>
// CHECK-SAME: epilogue(%[[A:.*]]: tensor<?x32xbf16>, %[[G:.*]]: tensor<?x32xbf16>, %[[RES:.*]] = %[[R]]: tensor<?x32xbf16>, %[[BIAS:.*]] = %[[B]]: tensor<32xbf16>)
// CHECK-SAME: outs(%[[O]]: tensor<?x32xbf16>) schedule<wgmma, {{.*}}, weights = 2>
// CHECK: %[[SUM:.*]] = tenon.add %[[G]], %[[BIAS]]
// CHECK: %[[GATE:.*]] = tenon.silu %[[SUM]]
// CHECK: %[[PRODUCT:.*]] = tenon.mul %[[A]], %[[GATE]]
// CHECK: tenon.add %[[PRODUCT]], %[[RES]]
// CHECK-NOT: linear
// CHECK: return %[[Y]]
#pair = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2>
func.func @gated(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %v: tensor<32x64xbf16>, %b: tensor<32xbf16>, %r: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %0 = tenon.fused_linear %x, %v : tensor<?x64xbf16>, tensor<32x64xbf16> epilogue(%acc: tensor<?x32xbf16>, %bias = %b: tensor<32xbf16>) -> tensor<?x32xbf16>
      attributes {schedule = #pair, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.add %acc, %bias : tensor<?x32xbf16>, tensor<32xbf16>
    %2 = tenon.silu %1 : tensor<?x32xbf16>
    tenon.yield %2 : tensor<?x32xbf16>
  }
  %3 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<?x32xbf16>, %gate = %0: tensor<?x32xbf16>, %res = %r: tensor<?x32xbf16>) -> tensor<?x32xbf16>
      attributes {schedule = #pair, strategy = #tenon.strategy<tiled>} {
    %4 = tenon.mul %acc, %gate : tensor<?x32xbf16>, tensor<?x32xbf16>
    %5 = tenon.add %4, %res : tensor<?x32xbf16>, tensor<?x32xbf16>
    tenon.yield %5 : tensor<?x32xbf16>
  }
  return %3 : tensor<?x32xbf16>
}

// -----

// What else is read of a gate is stored behind the layer's own results; the layer reads two of the gate's values.
// CHECK-LABEL: @kept
// CHECK: %[[Y:.*]]:3 = tenon.tiled_linear %arg0, %arg1, %arg2 :
// CHECK-SAME: epilogue(%[[A:.*]]: tensor<?x32xbf16>, %[[G:.*]]: tensor<?x32xbf16>) outs({{.*}}: {{.*}}, {{.*}}: {{.*}}, {{.*}}: {{.*}}) schedule<wgmma
// CHECK: %[[GATE:.*]] = tenon.silu %[[G]]
// CHECK: %[[PRODUCT:.*]] = tenon.mul %[[A]], %[[GATE]]
// CHECK: %[[SUM:.*]] = tenon.add %[[PRODUCT]], %[[G]]
// CHECK: tenon.yield %[[A]], %[[SUM]], %[[G]]
// CHECK: return %[[Y]]#2, %[[Y]]#0, %[[Y]]#1
#pair = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2>
func.func @kept(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %v: tensor<32x64xbf16>)
    -> (tensor<?x32xbf16>, tensor<?x32xbf16>, tensor<?x32xbf16>) {
  %0:2 = tenon.fused_linear %x, %v : tensor<?x64xbf16>, tensor<32x64xbf16> epilogue(%acc: tensor<?x32xbf16>)
      -> (tensor<?x32xbf16>, tensor<?x32xbf16>) attributes {schedule = #pair, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.silu %acc : tensor<?x32xbf16>
    tenon.yield %1, %acc : tensor<?x32xbf16>, tensor<?x32xbf16>
  }
  %2:2 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<?x32xbf16>, %gate = %0#0: tensor<?x32xbf16>, %product = %0#1: tensor<?x32xbf16>)
      -> (tensor<?x32xbf16>, tensor<?x32xbf16>) attributes {schedule = #pair, strategy = #tenon.strategy<tiled>} {
    %3 = tenon.mul %acc, %gate : tensor<?x32xbf16>, tensor<?x32xbf16>
    %4 = tenon.add %3, %product : tensor<?x32xbf16>, tensor<?x32xbf16>
    tenon.yield %acc, %4 : tensor<?x32xbf16>, tensor<?x32xbf16>
  }
  return %0#1, %2#0, %2#1 : tensor<?x32xbf16>, tensor<?x32xbf16>, tensor<?x32xbf16>
}

// -----

// A bare gate. Of split rows two guards compute anew what is outside, by all three factors: the gate's product first.
// CHECK-LABEL: @split
// CHECK: %[[X:.*]]:2 = tenon.split %arg0
// CHECK: %[[W:.*]]:2 = tenon.split %arg1
// CHECK: %[[V:.*]]:2 = tenon.split %arg2
// CHECK: %[[P:.*]] = tenon.tiled_linear %[[X]]#0, %[[W]]#0, %[[V]]#0 : {{.*}} factors(%[[X]]#1, %[[W]]#1, %[[V]]#1 :
// CHECK-SAME: weights = 2, method = fp16x3>
// CHECK: %[[G:.*]] = tenon.tiled_linear %arg0, %arg2 : {{.*}} factors(%[[X]]#1, %[[V]]#1, %[[W]]#1 :
// CHECK-SAME: epilogue(%[[A:.*]]: tensor<64x32xf32>) outs({{.*}}) schedule<mma_sync, {{.*}}method = fma>
// CHECK-NEXT: tenon.yield %[[A]]
// CHECK: %[[Y:.*]] = tenon.tiled_linear %arg0, %arg1 : {{.*}} factors(%[[X]]#1, %[[W]]#1, %[[V]]#1 :
// CHECK-SAME: epilogue(%[[B:.*]]: tensor<64x32xf32>, %[[C:.*]] = %[[G]]: tensor<64x32xf32>) outs(%[[P]]: tensor<64x32xf32>) schedule<mma_sync, {{.*}}method = fma>
// CHECK: tenon.mul %[[B]], %[[C]]
// CHECK: return %[[Y]]
#pair = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2, method = fp16x3>
func.func @split(%x: tensor<64x64xf32>, %w: tensor<32x64xf32>, %v: tensor<32x64xf32>) -> tensor<64x32xf32> {
  %0 = tenon.linear %x, %v {schedule = #pair, strategy = #tenon.strategy<tiled>} : (tensor<64x64xf32>, tensor<32x64xf32>) -> tensor<64x32xf32>
  %1 = tenon.fused_linear %x, %w : tensor<64x64xf32>, tensor<32x64xf32> epilogue(%acc: tensor<64x32xf32>, %gate = %0: tensor<64x32xf32>) -> tensor<64x32xf32>
      attributes {schedule = #pair, strategy = #tenon.strategy<tiled>} {
    %2 = tenon.mul %acc, %gate : tensor<64x32xf32>, tensor<64x32xf32>
    tenon.yield %2 : tensor<64x32xf32>
  }
  return %1 : tensor<64x32xf32>
}

// -----

func.func @alone(%x: tensor<64x64xf16>, %w: tensor<32x64xf16>) -> tensor<64x32xf16> {
  // expected-error @below {{cannot have the schedule #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2>: it is for two layers that read one x, of which one has the other's result as an operand of its epilogue}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8,
      blocks = 1, weights = 2>, strategy = #tenon.strategy<tiled>} : (tensor<64x64xf16>, tensor<32x64xf16>) -> tensor<64x32xf16>
  return %0 : tensor<64x32xf16>
}
