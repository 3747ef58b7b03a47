// Layers with a schedule of several terms become one op: each but the last gives its x, its w and its operands.
// RUN: tenon-opt %s --tenon-to-tiled --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: @lora
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xbf16>, %[[W:.*]]: tensor<32x64xbf16>, %[[T:.*]]: tensor<?x16xbf16>, %[[B:.*]]: tensor<32x16xbf16>, %[[BIAS:.*]]: tensor<32xbf16>)
// CHECK: %[[O:.*]] = tensor.empty
// CHECK: %[[Y:.*]] = tenon.tiled_linear %[[T]], %[[B]] : tensor<?x16xbf16>, tensor<32x16xbf16> plus(%[[X]], %[[W]] : tensor<?x64xbf16>, tensor<32x64xbf16>)
// CHECK-SAME: epilogue(%[[A:.*]]: tensor<?x32xbf16>, %[[C:.*]] = %[[BIAS]]: tensor<32xbf16>) outs(%[[O]]: tensor<?x32xbf16>) schedule<wgmma, {{.*}}, terms = 2>
// CHECK: %[[SUM:.*]] = tenon.add %[[A]], %[[C]]
// CHECK: %[[RELU:.*]] = tenon.relu %[[SUM]]
// CHECK: tenon.yield %[[RELU]]
// CHECK-NOT: linear
// CHECK: return %[[Y]]
#sum = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, terms = 2>
func.func @lora(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %t: tensor<?x16xbf16>, %b: tensor<32x16xbf16>, %bias: tensor<32xbf16>) -> tensor<?x32xbf16> {
  %0 = tenon.linear %x, %w, %bias {schedule = #sum, strategy = #tenon.strategy<tiled>}
      : (tensor<?x64xbf16>, tensor<32x64xbf16>, tensor<32xbf16>) -> tensor<?x32xbf16>
  %1 = tenon.fused_linear %t, %b : tensor<?x16xbf16>, tensor<32x16xbf16> epilogue(%acc: tensor<?x32xbf16>, %p = %0: tensor<?x32xbf16>) -> tensor<?x32xbf16>
      attributes {schedule = #sum, strategy = #tenon.strategy<tiled>} {
    %2 = tenon.add %p, %acc : tensor<?x32xbf16>, tensor<?x32xbf16>
    %3 = tenon.relu %2 : tensor<?x32xbf16>
    tenon.yield %3 : tensor<?x32xbf16>
  }
  return %1 : tensor<?x32xbf16>
}

// -----

// Four layers of two terms each are two kernels.
// CHECK-LABEL: @two_of_two
// CHECK: %[[FIRST:.*]] = tenon.tiled_linear %arg0, %arg1 : {{.*}} plus(%arg0, %arg1 :
// CHECK: tenon.tiled_linear %arg0, %arg1 : {{.*}} plus(%arg0, %arg1 : {{.*}}) epilogue(%{{.*}}: tensor<4x8xf16>, %{{.*}} = %[[FIRST]]: tensor<4x8xf16>)
#sum = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, terms = 2>
func.func @two_of_two(%x: tensor<4x64xf16>, %w: tensor<8x64xf16>) -> tensor<4x8xf16> {
  %0 = tenon.linear %x, %w {schedule = #sum, strategy = #tenon.strategy<tiled>} : (tensor<4x64xf16>, tensor<8x64xf16>) -> tensor<4x8xf16>
  %1 = tenon.fused_linear %x, %w : tensor<4x64xf16>, tensor<8x64xf16> epilogue(%acc: tensor<4x8xf16>, %p = %0: tensor<4x8xf16>) -> tensor<4x8xf16>
      attributes {schedule = #sum, strategy = #tenon.strategy<tiled>} {
    %4 = tenon.add %acc, %p : tensor<4x8xf16>, tensor<4x8xf16>
    tenon.yield %4 : tensor<4x8xf16>
  }
  %2 = tenon.fused_linear %x, %w : tensor<4x64xf16>, tensor<8x64xf16> epilogue(%acc: tensor<4x8xf16>, %p = %1: tensor<4x8xf16>) -> tensor<4x8xf16>
      attributes {schedule = #sum, strategy = #tenon.strategy<tiled>} {
    %4 = tenon.add %acc, %p : tensor<4x8xf16>, tensor<4x8xf16>
    tenon.yield %4 : tensor<4x8xf16>
  }
  %3 = tenon.fused_linear %x, %w : tensor<4x64xf16>, tensor<8x64xf16> epilogue(%acc: tensor<4x8xf16>, %p = %2: tensor<4x8xf16>) -> tensor<4x8xf16>
      attributes {schedule = #sum, strategy = #tenon.strategy<tiled>} {
    %4 = tenon.add %acc, %p : tensor<4x8xf16>, tensor<4x8xf16>
    tenon.yield %4 : tensor<4x8xf16>
  }
  return %3 : tensor<4x8xf16>
}

// -----

#sum = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, terms = 2>
func.func @alone(%x: tensor<4x64xf16>, %w: tensor<8x64xf16>) -> tensor<4x8xf16> {
  // expected-error @below {{it is for layers of which each has the result of the one before it added to its product}}
  %0 = tenon.linear %x, %w {schedule = #sum, strategy = #tenon.strategy<tiled>} : (tensor<4x64xf16>, tensor<8x64xf16>) -> tensor<4x8xf16>
  return %0 : tensor<4x8xf16>
}
