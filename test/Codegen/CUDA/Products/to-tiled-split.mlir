// Layers that multiply split numbers, and those that do without tensor cores.
// RUN: tenon-opt %s --tenon-to-tiled --split-input-file | FileCheck %s --implicit-check-not=tenon.with_split
// No buffer is copied on the way to kernels, and no result of the split product is.
// RUN: tenon-opt %s --tenon-to-tiled --tenon-to-blaslt --canonicalize --cse --tenon-bufferize --split-input-file \
// RUN:   | FileCheck %s --check-prefix=BUFFERS --implicit-check-not=memref.copy

// The product by halves comes first; what its factors say that it may have got wrong is computed anew, into its
// results, from x and w themselves and with the same epilogue.
// CHECK-LABEL: @fp32
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[W:.*]]: tensor<32x64xf32>, %[[B:.*]]: tensor<32xf32>
// CHECK: %[[INIT:.*]] = tensor.empty(%{{.*}}) : tensor<?x32xf32>
// CHECK: %[[XS:.*]]:2 = tenon.split %[[X]] : (tensor<?x64xf32>) -> (tensor<?x128xf16>, tensor<?x1xf32>)
// CHECK: %[[WS:.*]]:2 = tenon.split %[[W]] : (tensor<32x64xf32>) -> (tensor<32x128xf16>, tensor<32x1xf32>)
// CHECK: %[[Y0:.*]] = tenon.tiled_linear %[[XS]]#0, %[[WS]]#0 : tensor<?x128xf16>, tensor<32x128xf16> factors(%[[XS]]#1, %[[WS]]#1 : tensor<?x1xf32>, tensor<32x1xf32>) epilogue(%[[ACC:.*]]: tensor<?x32xf32>, %[[BIAS:.*]] = %[[B]]: tensor<32xf32>) outs(%[[INIT]]: tensor<?x32xf32>) workspace(%{{.*}}: tensor<{{.*}}xi8>) schedule<wgmma, tile = 128x128x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, stream_k = true, method = fp16x3> -> tensor<?x32xf32> {
// CHECK-NEXT: %[[SUM:.*]] = tenon.add %[[ACC]], %[[BIAS]]
// CHECK-NEXT: %[[R:.*]] = tenon.relu %[[SUM]]
// CHECK-NEXT: tenon.yield %[[R]]
// CHECK: %[[Y:.*]] = tenon.tiled_linear %[[X]], %[[W]] : tensor<?x64xf32>, tensor<32x64xf32> factors(%[[XS]]#1, %[[WS]]#1 : tensor<?x1xf32>, tensor<32x1xf32>) epilogue(%[[ACC:.*]]: tensor<?x32xf32>, %[[BIAS:.*]] = %[[B]]: tensor<32xf32>) outs(%[[Y0]]: tensor<?x32xf32>) schedule<mma_sync, tile = 128x64x32, warps = 4x2, stages = 3, swizzle = 128, raster = 16, blocks = 1, method = fma> -> tensor<?x32xf32> {
// CHECK-NEXT: %[[SUM:.*]] = tenon.add %[[ACC]], %[[BIAS]]
// CHECK-NEXT: %[[R:.*]] = tenon.relu %[[SUM]]
// CHECK-NEXT: tenon.yield %[[R]]
// CHECK: return %[[Y]]
// BUFFERS-LABEL: @fp32
// BUFFERS: tenon.tiled_linear {{.*}} outs(%[[Y:.*]]: memref<?x32xf32>) workspace
// BUFFERS: tenon.tiled_linear {{.*}} outs(%[[Y]]: memref<?x32xf32>) schedule
// BUFFERS: return %[[Y]]
func.func @fp32(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %b_ = %b: tensor<32xf32>) -> tensor<?x32xf32>
      attributes {schedule = #tenon.schedule<wgmma, tile = 128x128x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, stream_k = true, method = fp16x3>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.add %acc, %b_ : tensor<?x32xf32>, tensor<32xf32>
    %2 = tenon.relu %1 : tensor<?x32xf32>
    tenon.yield %2 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// Halves that stand beside an operand are taken; those of other parts are not. Few rows have a small guard.
// CHECK-LABEL: @halves_are_there
// CHECK-SAME: %[[X:.*]]: tensor<64x64xf32>, %[[W:.*]]: tensor<32x64xf32>, %[[H:.*]]: tensor<32x128xf16>, %[[F:.*]]: tensor<32x1xf32>
// CHECK: %[[XS:.*]]:2 = tenon.split %[[X]]
// CHECK-NOT: tenon.split
// CHECK: tenon.tiled_linear %[[XS]]#0, %[[H]] : {{.*}} factors(%[[XS]]#1, %[[F]] : {{.*}} method = fp16x3>
// CHECK: tenon.tiled_linear %[[X]], %[[W]] : {{.*}} factors(%[[XS]]#1, %[[F]] : {{.*}} schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 4, swizzle = 128, raster = 16, blocks = 1, method = fma>
// CHECK: %[[ONE:.*]]:2 = tenon.split %[[W]] : (tensor<32x64xf32>) -> (tensor<32x64xf16>,
// CHECK: tenon.tiled_linear %{{.*}}, %[[ONE]]#0 : tensor<64x64xf16>, tensor<32x64xf16> {{.*}} method = fp16>
// A layer of the library, and any other reader, reads the matrix.
// CHECK: tenon.linear %[[X]], %[[W]]
// CHECK: tenon.relu %[[W]]
func.func @halves_are_there(%x: tensor<64x64xf32>, %w: tensor<32x64xf32>, %h: tensor<32x128xf16>, %f: tensor<32x1xf32>)
    -> (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<32x64xf32>) {
  %0 = tenon.with_split %w, %h, %f : tensor<32x64xf32>, tensor<32x128xf16>, tensor<32x1xf32>
  %1 = tenon.linear %x, %0 {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3>, strategy = #tenon.strategy<tiled>}
      : (tensor<64x64xf32>, tensor<32x64xf32>) -> tensor<64x32xf32>
  %2 = tenon.linear %x, %0 precision<tf32> {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16>, strategy = #tenon.strategy<tiled>}
      : (tensor<64x64xf32>, tensor<32x64xf32>) -> tensor<64x32xf32>
  %3 = tenon.linear %x, %0 : (tensor<64x64xf32>, tensor<32x64xf32>) -> tensor<64x32xf32>
  %4 = tenon.relu %0 : tensor<32x64xf32>
  return %1, %2, %3, %4 : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<32x64xf32>
}

// -----

// tf32 by halves is guarded by tensor cores that multiply f32 as tf32, whatever the method.
// CHECK-LABEL: @tf32
// CHECK: tenon.tiled_linear {{.*}} method = fp16>
// CHECK: tenon.tiled_linear {{.*}} schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 4, swizzle = 128, raster = 16, blocks = 1> ->
// CHECK: tenon.tiled_linear {{.*}} method = fp16x3>
// CHECK: tenon.tiled_linear {{.*}} schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 4, swizzle = 128, raster = 16, blocks = 1> ->
func.func @tf32(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) -> (tensor<8x32xf32>, tensor<8x32xf32>) {
  %0 = tenon.linear %x, %w precision<tf32> {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16>, strategy = #tenon.strategy<tiled>}
      : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  %1 = tenon.linear %x, %w precision<tf32> {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3>, strategy = #tenon.strategy<tiled>}
      : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  return %0, %1 : tensor<8x32xf32>, tensor<8x32xf32>
}

// -----

// Without tensor cores there is nothing to split and nothing to guard.
// CHECK-LABEL: @fma
// CHECK-SAME: %[[X:.*]]: tensor<8x3xf32>, %[[W:.*]]: tensor<5x3xf32>
// CHECK-NOT: tenon.split
// CHECK: tenon.tiled_linear %[[X]], %[[W]] : tensor<8x3xf32>, tensor<5x3xf32> epilogue({{.*}} method = fma>
// CHECK-NOT: tenon.tiled_linear
// CHECK: return
func.func @fma(%x: tensor<8x3xf32>, %w: tensor<5x3xf32>) -> tensor<8x5xf32> {
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fma>, strategy = #tenon.strategy<tiled>}
      : (tensor<8x3xf32>, tensor<5x3xf32>) -> tensor<8x5xf32>
  return %0 : tensor<8x5xf32>
}

// -----

// What needs all rows follows the product, in place.
// CHECK-LABEL: @reduction
// CHECK-SAME: %[[X:.*]]: tensor<8x64xf32>, %[[W:.*]]: tensor<32x64xf32>, %[[S:.*]]: tensor<32xf32>
// CHECK: %[[P0:.*]] = tenon.tiled_linear {{.*}} epilogue(%[[ACC:.*]]: tensor<8x32xf32>) outs({{.*}} method = fp16x3>
// CHECK-NEXT: tenon.yield %[[ACC]]
// CHECK: %[[P:.*]] = tenon.tiled_linear %[[X]], %[[W]] : {{.*}} outs(%[[P0]]: {{.*}} method = fma>
// CHECK: %[[Y:.*]]:3 = tenon.epilogue ins(%[[A:.*]] = %[[P]]: tensor<8x32xf32>, %{{.*}} = %[[S]]: tensor<32xf32>) outs(%[[P]]: tensor<8x32xf32>,
// CHECK-NEXT: tenon.mul %[[A]],
// CHECK-NEXT: tenon.batch_norm_training
// CHECK: return %[[Y]]#0, %[[Y]]#1, %[[Y]]#2
// BUFFERS-LABEL: @reduction
// BUFFERS: tenon.tiled_linear {{.*}} outs(%[[Y:.*]]: memref<8x32xf32>)
// BUFFERS: tenon.tiled_linear {{.*}} outs(%[[Y]]: memref<8x32xf32>)
// BUFFERS: tenon.epilogue ins(%{{.*}} = %[[Y]]: memref<8x32xf32>, {{.*}} outs(%[[Y]]: memref<8x32xf32>,
func.func @reduction(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %s: tensor<32xf32>) -> (tensor<8x32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %0:3 = tenon.fused_linear %x, %w : tensor<8x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<8x32xf32>, %m = %s: tensor<32xf32>) -> (tensor<8x32xf32>, tensor<32xf32>, tensor<32xf32>)
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.mul %acc, %m : tensor<8x32xf32>, tensor<32xf32>
    %2:3 = tenon.batch_norm_training %1 running(%m, %m)
        : (tensor<8x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<8x32xf32>, tensor<32xf32>, tensor<32xf32>)
    tenon.yield %2#0, %2#1, %2#2 : tensor<8x32xf32>, tensor<32xf32>, tensor<32xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<8x32xf32>, tensor<32xf32>, tensor<32xf32>
}

// -----

// A residual is read again by the guard, so no output takes its buffer.
// BUFFERS-LABEL: @residual
// BUFFERS-SAME: memref<8x64xf32>, %[[W:.*]]: memref<32x64xf32>,
// BUFFERS: tenon.tiled_linear {{.*}} outs(%[[R:.*]]: memref<8x32xf32>)
// BUFFERS: tenon.tiled_linear {{.*}} %{{.*}} = %[[R]]: memref<8x32xf32>) outs(%[[Y:.*]]: memref<8x32xf32>)
// BUFFERS: tenon.tiled_linear {{.*}} %{{.*}} = %[[R]]: memref<8x32xf32>) outs(%[[Y]]: memref<8x32xf32>)
// BUFFERS: return %[[Y]]
func.func @residual(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>, %v: tensor<32x64xf32>) -> tensor<8x32xf32> {
  %0 = tenon.linear %x, %v {schedule = #tenon.schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fma>, strategy = #tenon.strategy<tiled>}
      : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  %1 = tenon.fused_linear %x, %w : tensor<8x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<8x32xf32>, %r = %0: tensor<8x32xf32>) -> tensor<8x32xf32>
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3>, strategy = #tenon.strategy<tiled>} {
    %2 = tenon.add %acc, %r : tensor<8x32xf32>, tensor<8x32xf32>
    tenon.yield %2 : tensor<8x32xf32>
  }
  return %1 : tensor<8x32xf32>
}
