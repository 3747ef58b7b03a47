// A kernel that cannot compute all of a layer's epilogue stores what takes the fewest bytes of it, as soon as it does.
// RUN: tenon-opt %s --tenon-to-tiled --split-input-file | FileCheck %s

#schedule = #tenon.schedule<wgmma, tile = 64x64x128, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp8>

// The cast to 16 bits, with the scale ahead of it; the bias and the activation are left to the kernel that reads it.
// CHECK-LABEL: @cut
// CHECK: %[[Z:.*]] = tenon.tiled_linear {{.*}} epilogue(%{{.*}}: tensor<?x256xf32>, %{{.*}} = %arg2: tensor<?x1xf32>) outs(%{{.*}}: tensor<?x256xbf16>)
// CHECK-NEXT: tenon.mul
// CHECK-NEXT: %[[CAST:.*]] = tenon.cast
// CHECK-NEXT: tenon.yield %[[CAST]]
// CHECK: tenon.epilogue ins(%[[X:.*]] = %[[Z]]: tensor<?x256xbf16>, %{{.*}} = %arg3: tensor<256xbf16>)
// CHECK-NEXT: tenon.add %[[X]]
// CHECK-NEXT: tenon.silu
// CHECK: tenon.reduce_row max
func.func @cut(%x: tensor<?x512xf8E4M3FN>, %w: tensor<256x512xf8E4M3FN>, %s: tensor<?x1xf32>, %b: tensor<256xbf16>) -> (tensor<?x256xbf16>, tensor<?x1xbf16>) {
  %0:2 = tenon.fused_linear %x, %w : tensor<?x512xf8E4M3FN>, tensor<256x512xf8E4M3FN>
      epilogue(%acc: tensor<?x256xf32>, %scale = %s: tensor<?x1xf32>, %bias = %b: tensor<256xbf16>) -> (tensor<?x256xbf16>, tensor<?x1xbf16>)
      attributes {strategy = #tenon.strategy<tiled>, schedule = #schedule} {
    %1 = tenon.mul %acc, %scale : tensor<?x256xf32>, tensor<?x1xf32>
    %2 = tenon.cast %1 : tensor<?x256xf32> -> tensor<?x256xbf16>
    %3 = tenon.add %2, %bias : tensor<?x256xbf16>, tensor<256xbf16>
    %4 = tenon.silu %3 : tensor<?x256xbf16>
    %5 = tenon.reduce_row max %4 : tensor<?x256xbf16>
    tenon.yield %4, %5 : tensor<?x256xbf16>, tensor<?x1xbf16>
  }
  return %0#0, %0#1 : tensor<?x256xbf16>, tensor<?x1xbf16>
}

// -----

#schedule = #tenon.schedule<wgmma, tile = 64x64x128, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp8>

// A result keeps the product as it was ahead of the cast.
// CHECK-LABEL: @no_cut_read_ahead
// CHECK: tenon.tiled_linear {{.*}} outs(%{{.*}}: tensor<?x256xf32>)
// CHECK-NEXT: tenon.yield
// CHECK: tenon.epilogue
func.func @no_cut_read_ahead(%x: tensor<?x512xf8E4M3FN>, %w: tensor<256x512xf8E4M3FN>) -> (tensor<?x256xf32>, tensor<?x1xbf16>) {
  %0:2 = tenon.fused_linear %x, %w : tensor<?x512xf8E4M3FN>, tensor<256x512xf8E4M3FN> epilogue(%acc: tensor<?x256xf32>) -> (tensor<?x256xf32>, tensor<?x1xbf16>)
      attributes {strategy = #tenon.strategy<tiled>, schedule = #schedule} {
    %1 = tenon.relu %acc : tensor<?x256xf32>
    %2 = tenon.cast %1 : tensor<?x256xf32> -> tensor<?x256xbf16>
    %3 = tenon.reduce_row max %2 : tensor<?x256xbf16>
    tenon.yield %1, %3 : tensor<?x256xf32>, tensor<?x1xbf16>
  }
  return %0#0, %0#1 : tensor<?x256xf32>, tensor<?x1xbf16>
}

// -----

#schedule = #tenon.schedule<wgmma, tile = 64x64x128, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp8>

// What is narrow comes of the reduction.
// CHECK-LABEL: @no_cut_behind
// CHECK: tenon.tiled_linear {{.*}} outs(%{{.*}}: tensor<?x256xf32>)
// CHECK-NEXT: tenon.yield
// CHECK: tenon.epilogue
func.func @no_cut_behind(%x: tensor<?x512xf8E4M3FN>, %w: tensor<256x512xf8E4M3FN>) -> tensor<?x256xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<?x512xf8E4M3FN>, tensor<256x512xf8E4M3FN> epilogue(%acc: tensor<?x256xf32>) -> tensor<?x256xbf16>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #schedule} {
    %1 = tenon.reduce_row max %acc : tensor<?x256xf32>
    %2 = tenon.sub %acc, %1 : tensor<?x256xf32>, tensor<?x1xf32>
    %3 = tenon.cast %2 : tensor<?x256xf32> -> tensor<?x256xbf16>
    tenon.yield %3 : tensor<?x256xbf16>
  }
  return %0 : tensor<?x256xbf16>
}
