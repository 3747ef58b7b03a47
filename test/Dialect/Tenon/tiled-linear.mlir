// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" | FileCheck %s --check-prefix=BUFFER

// CHECK-LABEL: @workspace
// BUFFER-LABEL: @workspace
// BUFFER-NOT: memref.alloc
// BUFFER-NOT: memref.copy
// BUFFER: tenon.tiled_linear %{{.*}}, %{{.*}} : memref<?x64xbf16>, memref<32x64xbf16> epilogue(%[[ACC:.*]]: tensor<?x32xf32>, %[[B:.*]] = %{{.*}}: memref<32xf32>) outs(%{{.*}}: memref<?x32xbf16>) workspace(%{{.*}}: memref<1024xi8>) schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true> {
// BUFFER-NEXT: tenon.add %[[ACC]], %[[B]] : tensor<?x32xf32>, tensor<32xf32>
func.func @workspace(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xf32>, %o: tensor<?x32xbf16>, %ws: tensor<1024xi8>) -> tensor<?x32xbf16> {
  // CHECK: tenon.tiled_linear %{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<32x64xbf16> epilogue(%[[ACC:.*]]: tensor<?x32xf32>, %[[B:.*]] = %{{.*}}: tensor<32xf32>) outs(%{{.*}}: tensor<?x32xbf16>) workspace(%{{.*}}: tensor<1024xi8>) schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true> -> tensor<?x32xbf16> attributes {note = "kept"} {
  // CHECK-NEXT: tenon.add %[[ACC]], %[[B]]
  %0 = tenon.tiled_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<?x32xf32>, %bias = %b: tensor<32xf32>)
      outs(%o: tensor<?x32xbf16>) workspace(%ws: tensor<1024xi8>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>
      -> tensor<?x32xbf16> attributes {note = "kept"} {
    %1 = tenon.add %acc, %bias : tensor<?x32xf32>, tensor<32xf32>
    %2 = tenon.cast %1 : tensor<?x32xf32> -> tensor<?x32xbf16>
    tenon.yield %2 : tensor<?x32xbf16>
  }
  return %0 : tensor<?x32xbf16>
}

// Layers share a workspace without a copy.
// BUFFER-LABEL: @shared_workspace
// BUFFER: %[[WS:.*]] = memref.alloc() {{.*}} : memref<1024xi8>
// BUFFER-NOT: memref<1024xi8>
// BUFFER: workspace(%[[WS]]: memref<1024xi8>)
// BUFFER-NOT: memref.copy
// BUFFER: workspace(%[[WS]]: memref<1024xi8>)
func.func @shared_workspace(%x: tensor<8x32xf16>, %w: tensor<32x32xf16>, %a: tensor<8x32xf16>, %b: tensor<8x32xf16>) -> (tensor<8x32xf16>, tensor<8x32xf16>) {
  %ws = bufferization.alloc_tensor() : tensor<1024xi8>
  %0 = tenon.tiled_linear %x, %w : tensor<8x32xf16>, tensor<32x32xf16>
      epilogue(%acc: tensor<8x32xf16>) outs(%a: tensor<8x32xf16>) workspace(%ws: tensor<1024xi8>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>
      -> tensor<8x32xf16> {
    tenon.yield %acc : tensor<8x32xf16>
  }
  %1 = tenon.tiled_linear %0, %w : tensor<8x32xf16>, tensor<32x32xf16>
      epilogue(%acc: tensor<8x32xf16>) outs(%b: tensor<8x32xf16>) workspace(%ws: tensor<1024xi8>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>
      -> tensor<8x32xf16> {
    tenon.yield %acc : tensor<8x32xf16>
  }
  return %0, %1 : tensor<8x32xf16>, tensor<8x32xf16>
}

// A residual is read where the result is written.
// CHECK-LABEL: @residual_in_place
// CHECK: schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> -> (tensor<?x32xf32>, tensor<?x32xf16>) {
// BUFFER-LABEL: @residual_in_place
// BUFFER-NOT: memref.alloc
// BUFFER-NOT: memref.copy
// BUFFER: epilogue(%{{.*}}: tensor<?x32xf32>, %{{.*}} = %[[R:.*]]: memref<?x32xf32>) outs(%[[R]]: memref<?x32xf32>, %{{.*}}: memref<?x32xf16>) schedule
// BUFFER: return
func.func @residual_in_place(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %r: tensor<?x32xf32>, %o: tensor<?x32xf16>) -> (tensor<?x32xf32>, tensor<?x32xf16>) {
  %0:2 = tenon.tiled_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %res = %r: tensor<?x32xf32>)
      outs(%r: tensor<?x32xf32>, %o: tensor<?x32xf16>)
      schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>
      -> (tensor<?x32xf32>, tensor<?x32xf16>) {
    %1 = tenon.add %acc, %res : tensor<?x32xf32>, tensor<?x32xf32>
    %2 = tenon.cast %1 : tensor<?x32xf32> -> tensor<?x32xf16>
    tenon.yield %1, %2 : tensor<?x32xf32>, tensor<?x32xf16>
  }
  return %0#0, %0#1 : tensor<?x32xf32>, tensor<?x32xf16>
}

// Many threads read x, also where it is a residual too.
// BUFFER-LABEL: @x_is_not_output
// BUFFER-SAME: %[[X:.*]]: memref<8x32xf32>, %[[W:.*]]: memref
// BUFFER: %[[COPY:.*]] = memref.alloc() {{.*}} : memref<8x32xf32>
// BUFFER: tenon.tiled_linear %[[X]], %[[W]] : {{.*}} outs(%[[COPY]]: memref<8x32xf32>)
func.func @x_is_not_output(%x: tensor<8x32xf32>, %w: tensor<32x32xf32>) -> tensor<8x32xf32> {
  %0 = tenon.tiled_linear %x, %w : tensor<8x32xf32>, tensor<32x32xf32>
      epilogue(%acc: tensor<8x32xf32>, %res = %x: tensor<8x32xf32>) outs(%x: tensor<8x32xf32>)
      schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>
      -> tensor<8x32xf32> {
    %1 = tenon.add %acc, %res : tensor<8x32xf32>, tensor<8x32xf32>
    tenon.yield %1 : tensor<8x32xf32>
  }
  return %0 : tensor<8x32xf32>
}

// BUFFER-LABEL: @w_is_not_output
// BUFFER-SAME: %[[X:.*]]: memref<32x32xf32>, %[[W:.*]]: memref
// BUFFER: %[[COPY:.*]] = memref.alloc() {{.*}} : memref<32x32xf32>
// BUFFER: tenon.tiled_linear %[[X]], %[[W]] : {{.*}} outs(%[[COPY]]: memref<32x32xf32>)
func.func @w_is_not_output(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %0 = tenon.tiled_linear %x, %w : tensor<32x32xf32>, tensor<32x32xf32>
      epilogue(%acc: tensor<32x32xf32>) outs(%w: tensor<32x32xf32>)
      schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>
      -> tensor<32x32xf32> {
    tenon.yield %acc : tensor<32x32xf32>
  }
  return %0 : tensor<32x32xf32>
}

// Halves and their factors, which are only read.
// CHECK-LABEL: @split_numbers
// CHECK: tenon.tiled_linear %{{.*}}, %{{.*}} : tensor<?x128xf16>, tensor<32x128xf16> factors(%{{.*}}, %{{.*}} : tensor<?x1xf32>, tensor<32x1xf32>) epilogue(%{{.*}}: tensor<?x32xf32>) outs(%{{.*}}: tensor<?x32xf32>) schedule<{{.*}}, method = fp16x3> -> tensor<?x32xf32> {
// BUFFER-LABEL: @split_numbers
// BUFFER-NOT: memref.alloc
// BUFFER-NOT: memref.copy
// BUFFER: tenon.tiled_linear %{{.*}}, %{{.*}} : memref<?x128xf16>, memref<32x128xf16> factors(%{{.*}}, %{{.*}} : memref<?x1xf32>, memref<32x1xf32>) epilogue(%{{.*}}: tensor<?x32xf32>) outs(%{{.*}}: memref<?x32xf32>) schedule<{{.*}}, method = fp16x3> {
// BUFFER: return
func.func @split_numbers(%x: tensor<?x128xf16>, %w: tensor<32x128xf16>, %fx: tensor<?x1xf32>, %fw: tensor<32x1xf32>, %o: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %0 = tenon.tiled_linear %x, %w : tensor<?x128xf16>, tensor<32x128xf16>
      factors(%fx, %fw : tensor<?x1xf32>, tensor<32x1xf32>)
      epilogue(%acc: tensor<?x32xf32>) outs(%o: tensor<?x32xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3>
      -> tensor<?x32xf32> {
    tenon.yield %acc : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// With method direct or fma factors say which tiles are left to do: results that are there already are kept, so
// that they are copied where something else reads them too. What a kernel without factors overwrites is not.
// CHECK-LABEL: @guarded
// CHECK: factors(%{{.*}}, %{{.*}} : tensor<?x1xf32>, tensor<32x1xf32>) {{.*}} method = fma> -> tensor<?x32xf32>
// BUFFER-LABEL: @guarded
// BUFFER-SAME: %[[X:[^:]*]]: memref<?x64xf32>, %{{[^:]*}}: {{[^%]*}}%{{[^:]*}}: {{[^%]*}}%{{[^:]*}}: {{[^%]*}}%[[O:[^:]*]]: memref<?x32xf32>
// BUFFER: %[[COPY:.*]] = memref.alloc({{.*}}) {{.*}} : memref<?x32xf32>
// BUFFER: memref.copy %[[O]], %[[COPY]]
// BUFFER: tenon.tiled_linear {{.*}} outs(%[[COPY]]: memref<?x32xf32>) {{.*}} method = fma>
// BUFFER: return %[[O]], %[[COPY]]
func.func @guarded(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %fx: tensor<?x1xf32>, %fw: tensor<32x1xf32>, %o: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %0 = tenon.tiled_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      factors(%fx, %fw : tensor<?x1xf32>, tensor<32x1xf32>)
      epilogue(%acc: tensor<?x32xf32>) outs(%o: tensor<?x32xf32>)
      schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fma>
      -> tensor<?x32xf32> {
    tenon.yield %acc : tensor<?x32xf32>
  }
  return %o, %0 : tensor<?x32xf32>, tensor<?x32xf32>
}

// BUFFER-LABEL: @not_guarded
// BUFFER: memref.alloc({{.*}}) {{.*}} : memref<?x32xf32>
// BUFFER-NOT: memref.copy
// BUFFER: return
func.func @not_guarded(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %o: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %0 = tenon.tiled_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>) outs(%o: tensor<?x32xf32>)
      schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fma>
      -> tensor<?x32xf32> {
    tenon.yield %acc : tensor<?x32xf32>
  }
  return %o, %0 : tensor<?x32xf32>, tensor<?x32xf32>
}
