// RUN: tenon-opt %s --tenon-to-tiled --split-input-file | FileCheck %s

// A bias becomes an addition; M comes from x.
// CHECK-LABEL: @linear_with_bias
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>, %[[W:.*]]: tensor<32x64xbf16>, %[[B:.*]]: tensor<32xf32>
// CHECK-NOT: alloc_tensor
// CHECK: %[[M:.*]] = tensor.dim %[[X]]
// CHECK: %[[INIT:.*]] = tensor.empty(%[[M]]) : tensor<?x32xbf16>
// CHECK: %[[Y:.*]] = tenon.tiled_linear %[[X]], %[[W]] : tensor<?x64xbf16>, tensor<32x64xbf16> epilogue(%[[ACC:.*]]: tensor<?x32xbf16>, %[[BIAS:.*]] = %[[B]]: tensor<32xf32>) outs(%[[INIT]]: tensor<?x32xbf16>) schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> -> tensor<?x32xbf16> {
// CHECK-NEXT: %[[SUM:.*]] = tenon.add %[[ACC]], %[[BIAS]] : tensor<?x32xbf16>, tensor<32xf32>
// CHECK-NEXT: tenon.yield %[[SUM]]
// CHECK: return %[[Y]]
func.func @linear_with_bias(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xf32>) -> tensor<?x32xbf16> {
  %0 = tenon.linear %x, %w, %b {schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>, strategy = #tenon.strategy<tiled>}
      : (tensor<?x64xbf16>, tensor<32x64xbf16>, tensor<32xf32>) -> tensor<?x32xbf16>
  return %0 : tensor<?x32xbf16>
}

// -----

// Without a bias the product itself is yielded; f32 as tf32.
// CHECK-LABEL: @linear
// CHECK-NOT: tenon.linear
// CHECK: tensor.empty() : tensor<8x32xf32>
// CHECK: tenon.tiled_linear {{.*}} epilogue(%[[ACC:.*]]: tensor<8x32xf32>) outs
// CHECK-NEXT: tenon.yield %[[ACC]]
func.func @linear(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) -> tensor<8x32xf32> {
  %0 = tenon.linear %x, %w precision<tf32> {schedule = #tenon.schedule<mma_sync, tile = 64x32x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>, strategy = #tenon.strategy<tiled>}
      : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

// Several results, one of another type, one the product itself, one twice: each
// has its output.
// CHECK-LABEL: @results
// CHECK-SAME: tensor<32x64xf16>, %[[R:.*]]: tensor<?x32xf16>)
// CHECK-DAG: %[[A:.*]] = tensor.empty(%{{.*}}) : tensor<?x32xf32>
// CHECK-DAG: %[[B:.*]] = tensor.empty(%{{.*}}) : tensor<?x32xf16>
// CHECK: %[[Y:.*]]:4 = tenon.tiled_linear {{.*}} epilogue(%[[ACC:.*]]: tensor<?x32xf16>, %[[RES:.*]] = %[[R]]: tensor<?x32xf16>) outs(%[[A]]: tensor<?x32xf32>, %{{.*}}: tensor<?x32xf16>, %{{.*}}: tensor<?x32xf16>, %{{.*}}: tensor<?x32xf16>) schedule<{{.*}}> -> (tensor<?x32xf32>, tensor<?x32xf16>, tensor<?x32xf16>, tensor<?x32xf16>)
// CHECK-NEXT: %[[SUM:.*]] = tenon.add %[[ACC]], %[[RES]]
// CHECK-NEXT: %[[WIDE:.*]] = tenon.cast %[[SUM]]
// CHECK-NEXT: tenon.yield %[[WIDE]], %[[ACC]], %[[SUM]], %[[SUM]]
// CHECK: return %[[Y]]#0, %[[Y]]#1, %[[Y]]#2, %[[Y]]#3
func.func @results(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %r: tensor<?x32xf16>) -> (tensor<?x32xf32>, tensor<?x32xf16>, tensor<?x32xf16>, tensor<?x32xf16>) {
  %0:4 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %r_ = %r: tensor<?x32xf16>) -> (tensor<?x32xf32>, tensor<?x32xf16>, tensor<?x32xf16>, tensor<?x32xf16>)
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.add %acc, %r_ : tensor<?x32xf16>, tensor<?x32xf16>
    %2 = tenon.cast %1 : tensor<?x32xf16> -> tensor<?x32xf32>
    tenon.yield %2, %acc, %1, %1 : tensor<?x32xf32>, tensor<?x32xf16>, tensor<?x32xf16>, tensor<?x32xf16>
  }
  return %0#0, %0#1, %0#2, %0#3 : tensor<?x32xf32>, tensor<?x32xf16>, tensor<?x32xf16>, tensor<?x32xf16>
}

// -----

// One workspace serves the layers of one size: 192 blocks with a flag and a
// tile of f32 each.
// CHECK-LABEL: @workspaces
// CHECK-NOT: tenon.tiled_linear
// CHECK-DAG: %[[SMALL:.*]] = bufferization.alloc_tensor() : tensor<1574400xi8>
// CHECK-DAG: %[[LARGE:.*]] = bufferization.alloc_tensor() : tensor<12584448xi8>
// CHECK-NOT: alloc_tensor
// CHECK: tenon.tiled_linear {{.*}} workspace(%[[SMALL]]: tensor<1574400xi8>)
// CHECK: tenon.tiled_linear {{.*}} workspace(%[[LARGE]]: tensor<12584448xi8>)
// CHECK: tenon.tiled_linear {{.*}} workspace(%[[SMALL]]: tensor<1574400xi8>)
func.func @workspaces(%x: tensor<8x32xf16>, %w: tensor<32x32xf16>) -> tensor<8x32xf16> {
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>, strategy = #tenon.strategy<tiled>} : (tensor<8x32xf16>, tensor<32x32xf16>) -> tensor<8x32xf16>
  %1 = tenon.linear %0, %w {schedule = #tenon.schedule<mma_sync, tile = 128x128x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>, strategy = #tenon.strategy<tiled>} : (tensor<8x32xf16>, tensor<32x32xf16>) -> tensor<8x32xf16>
  %2 = tenon.fused_linear %1, %w : tensor<8x32xf16>, tensor<32x32xf16>
      epilogue(%acc: tensor<8x32xf16>) -> tensor<8x32xf16>
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>, strategy = #tenon.strategy<tiled>} {
    %3 = tenon.relu %acc : tensor<8x32xf16>
    tenon.yield %3 : tensor<8x32xf16>
  }
  return %2 : tensor<8x32xf16>
}

// -----

// Each function has its own workspace.
// CHECK-LABEL: @first
// CHECK: bufferization.alloc_tensor() : tensor<1574400xi8>
// CHECK-LABEL: @second
// CHECK: bufferization.alloc_tensor() : tensor<1574400xi8>
func.func @first(%x: tensor<8x32xf16>, %w: tensor<32x32xf16>) -> tensor<8x32xf16> {
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>, strategy = #tenon.strategy<tiled>} : (tensor<8x32xf16>, tensor<32x32xf16>) -> tensor<8x32xf16>
  return %0 : tensor<8x32xf16>
}
func.func @second(%x: tensor<8x32xf16>, %w: tensor<32x32xf16>) -> tensor<8x32xf16> {
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>, strategy = #tenon.strategy<tiled>} : (tensor<8x32xf16>, tensor<32x32xf16>) -> tensor<8x32xf16>
  return %0 : tensor<8x32xf16>
}

// -----

// Layers of strategy library or of none stay, with or without a schedule, and
// keep their attributes.
// CHECK-LABEL: @not_tiled
// CHECK-NOT: tenon.tiled_linear
// CHECK-NOT: tensor.empty
// CHECK-COUNT-2: tenon.linear
// CHECK: tenon.fused_linear {{.*}} attributes {schedule = {{.*}}, strategy = #tenon.strategy<library>}
// CHECK: return
func.func private @external(tensor<8x32xf16>)
func.func @not_tiled(%x: tensor<8x32xf16>, %w: tensor<32x32xf16>) -> tensor<8x32xf16> {
  %0 = tenon.linear %x, %w : (tensor<8x32xf16>, tensor<32x32xf16>) -> tensor<8x32xf16>
  %1 = tenon.linear %0, %w {schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>} : (tensor<8x32xf16>, tensor<32x32xf16>) -> tensor<8x32xf16>
  %2 = tenon.fused_linear %1, %w : tensor<8x32xf16>, tensor<32x32xf16>
      epilogue(%acc: tensor<8x32xf16>) -> tensor<8x32xf16>
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>, strategy = #tenon.strategy<library>} {
    %3 = tenon.relu %acc : tensor<8x32xf16>
    tenon.yield %3 : tensor<8x32xf16>
  }
  return %2 : tensor<8x32xf16>
}

// -----

// gelu of a product of tf32 need not be more exact than that: of what is made of the product, in f32.
// CHECK-LABEL: @gelu_of_tf32
// CHECK: tenon.tiled_linear
// CHECK: tenon.gelu %{{.*}} approximate<tf32> : tensor<?x32xf32>
// CHECK: tenon.gelu %{{.*}} : tensor<?x32xf32>
// CHECK: tenon.gelu %{{.*}} approximate<tanh> : tensor<?x32xf32>
// CHECK: tenon.gelu %{{.*}} : tensor<?x32xbf16>
// CHECK: tenon.yield
func.func @gelu_of_tf32(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %r: tensor<?x32xf32>)
    -> (tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xbf16>) {
  %0:4 = tenon.fused_linear %x, %w precision<tf32> : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %r_ = %r: tensor<?x32xf32>)
      -> (tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xbf16>)
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x32x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.add %acc, %r_ : tensor<?x32xf32>, tensor<?x32xf32>
    %2 = tenon.gelu %1 : tensor<?x32xf32>
    %3 = tenon.gelu %r_ : tensor<?x32xf32>
    %4 = tenon.gelu %acc approximate<tanh> : tensor<?x32xf32>
    %5 = tenon.cast %acc : tensor<?x32xf32> -> tensor<?x32xbf16>
    %6 = tenon.gelu %5 : tensor<?x32xbf16>
    tenon.yield %2, %3, %4, %6 : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xbf16>
  }
  return %0#0, %0#1, %0#2, %0#3 : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xbf16>
}

// -----

// With a product of f32 it stays.
// CHECK-LABEL: @gelu_of_f32
// CHECK: tenon.tiled_linear
// CHECK-NOT: approximate
// CHECK: return
func.func @gelu_of_f32(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) -> tensor<8x32xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<8x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<8x32xf32>) -> tensor<8x32xf32>
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x32x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fma>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.gelu %acc : tensor<8x32xf32>
    tenon.yield %1 : tensor<8x32xf32>
  }
  return %0 : tensor<8x32xf32>
}
