// RUN: tenon-opt %s --tenon-to-tiled --split-input-file | FileCheck %s
// RUN: tenon-opt %s --tenon-to-tiled --tenon-bufferize --split-input-file | FileCheck %s --check-prefix=BUFFER

// The layer is cut at its batch norm: what comes before it is computed with the
// product, what follows with the norm, in place. Each part has its operands.
// CHECK-LABEL: @layer
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x64xbf16>, %[[W:[^:]*]]: tensor<32x64xbf16>, %[[S:[^:]*]]: tensor<32xbf16>, %[[G:[^:]*]]: tensor<32xf32>, %[[RM:[^:]*]]: tensor<32xf32>, %[[RV:[^:]*]]: tensor<32xf32>, %[[R:[^:]*]]: tensor<?x32xbf16>
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[BLOCKS:.*]] = arith.ceildivui %{{.*}}, %[[ROWS]] : index
// CHECK-DAG: %[[EXTENT:.*]] = arith.muli %[[BLOCKS]], %[[TWO]] : index
// CHECK: %[[MOMENTS:.*]] = tensor.empty(%[[EXTENT]]) : tensor<?x32xf32>
// CHECK: %[[P:.*]]:2 = tenon.tiled_linear %[[X]], %[[W]] {{.*}} epilogue(%[[ACC:.*]]: tensor<?x32xbf16>, %[[SCALE:.*]] = %[[S]]: tensor<32xbf16>) outs(%{{.*}}: tensor<?x32xbf16>, %[[MOMENTS]]: tensor<?x32xf32>) schedule<wgmma, {{.*}}reduction = two_phase> -> (tensor<?x32xbf16>, tensor<?x32xf32>) {
// CHECK-NEXT: %[[Z:.*]] = tenon.mul %[[ACC]], %[[SCALE]]
// CHECK-NEXT: %[[MO:.*]] = tenon.moments %[[Z]] {rows = 64 : i64} : tensor<?x32xbf16> -> tensor<?x32xf32>
// CHECK-NEXT: tenon.yield %[[Z]], %[[MO]]
// CHECK: %[[Y:.*]]:3 = tenon.epilogue ins(%[[A:.*]] = %[[P]]#0: tensor<?x32xbf16>, %[[GA:.*]] = %[[G]]: tensor<32xf32>, %[[MEAN:.*]] = %[[RM]]: tensor<32xf32>, %[[VAR:.*]] = %[[RV]]: tensor<32xf32>, %[[RES:.*]] = %[[R]]: tensor<?x32xbf16>, %[[MA:.*]] = %[[P]]#1: tensor<?x32xf32>) outs(%[[P]]#0: tensor<?x32xbf16>, %{{.*}}: tensor<32xf32>, %{{.*}}: tensor<32xf32>)
// CHECK-NEXT: %[[N:.*]], %[[NEW:.*]]:2 = tenon.batch_norm_training %[[A]] weight(%[[GA]]) running(%[[MEAN]], %[[VAR]]) moments(%[[MA]]) {moment_rows = 64 : i64}
// CHECK-NEXT: %[[RELU:.*]] = tenon.relu %[[N]]
// CHECK-NEXT: %[[SUM:.*]] = tenon.add %[[RELU]], %[[RES]]
// CHECK-NEXT: tenon.yield %[[SUM]], %[[NEW]]#0, %[[NEW]]#1
// CHECK: return %[[Y]]#0, %[[Y]]#1, %[[Y]]#2
// BUFFER-LABEL: @layer
// BUFFER: %[[Z:.*]] = memref.alloc({{.*}}) {{.*}} : memref<?x32xbf16>
// BUFFER: %[[M:.*]] = memref.alloc({{.*}}) {{.*}} : memref<?x32xf32>
// BUFFER: tenon.tiled_linear {{.*}} outs(%[[Z]]: memref<?x32xbf16>, %[[M]]: memref<?x32xf32>)
// BUFFER: tenon.epilogue ins(%{{.*}} = %[[Z]]: memref<?x32xbf16>, {{.*}} = %[[M]]: memref<?x32xf32>) outs(%[[Z]]: memref<?x32xbf16>,
func.func @layer(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %s: tensor<32xbf16>, %g: tensor<32xf32>, %rm: tensor<32xf32>, %rv: tensor<32xf32>, %r: tensor<?x32xbf16>) -> (tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>) {
  %0:3 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<?x32xbf16>, %scale = %s: tensor<32xbf16>, %ga = %g: tensor<32xf32>, %mean = %rm: tensor<32xf32>, %var = %rv: tensor<32xf32>, %res = %r: tensor<?x32xbf16>)
      -> (tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>)
      attributes {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.mul %acc, %scale : tensor<?x32xbf16>, tensor<32xbf16>
    %2:3 = tenon.batch_norm_training %1 weight(%ga) running(%mean, %var) : (tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>)
    %3 = tenon.relu %2#0 : tensor<?x32xbf16>
    %4 = tenon.add %3, %res : tensor<?x32xbf16>, tensor<?x32xbf16>
    tenon.yield %4, %2#1, %2#2 : tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>
}

// -----

// The norm's input is the product, and a result too: it keeps its buffer. Moments
// are of the tile's rows; 300 rows have three.
// CHECK-LABEL: @product_returned
// CHECK: %[[P:.*]]:2 = tenon.tiled_linear {{.*}} epilogue(%[[ACC:.*]]: tensor<300x32xf16>) outs(%{{.*}}: tensor<300x32xf16>, %{{.*}}: tensor<6x32xf32>)
// CHECK-NEXT: %[[MO:.*]] = tenon.moments %[[ACC]] {rows = 128 : i64} : tensor<300x32xf16> -> tensor<6x32xf32>
// CHECK-NEXT: tenon.yield %[[ACC]], %[[MO]]
// CHECK: %[[O:.*]] = tensor.empty() : tensor<300x32xf16>
// CHECK: %[[Y:.*]] = tenon.epilogue ins(%{{.*}} = %[[P]]#0: {{.*}}, %{{.*}} = %[[P]]#1: {{.*}}) outs(%[[O]]: tensor<300x32xf16>)
// CHECK: return %[[P]]#0, %[[Y]]
// BUFFER-LABEL: @product_returned
// BUFFER: tenon.tiled_linear {{.*}} outs(%[[Z:.*]]: memref<300x32xf16>, %[[M:.*]]: memref<6x32xf32>)
// BUFFER: tenon.epilogue ins(%{{.*}} = %[[Z]]: memref<300x32xf16>, %{{.*}} = %[[M]]: memref<6x32xf32>) outs(%[[Y:.*]]: memref<300x32xf16>)
// BUFFER-NOT: memref.copy
// BUFFER: return %[[Z]], %[[Y]]
func.func @product_returned(%x: tensor<300x64xf16>, %w: tensor<32x64xf16>) -> (tensor<300x32xf16>, tensor<300x32xf16>) {
  %0:2 = tenon.fused_linear %x, %w : tensor<300x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<300x32xf16>) -> (tensor<300x32xf16>, tensor<300x32xf16>)
      attributes {schedule = #tenon.schedule<mma_sync, tile = 128x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.batch_norm_training %acc : (tensor<300x32xf16>) -> tensor<300x32xf16>
    tenon.yield %acc, %1 : tensor<300x32xf16>, tensor<300x32xf16>
  }
  return %0#0, %0#1 : tensor<300x32xf16>, tensor<300x32xf16>
}

// -----

// What is returned of before the norm, and gives its input again, is stored in
// place of that, whose moments are of what the kernel has in registers, and of
// the value that is stored as it is rounded.
// CHECK-LABEL: @scaled_behind_result
// CHECK: %[[P:.*]]:2 = tenon.tiled_linear {{.*}} epilogue(%[[ACC:.*]]: tensor<256x32xf16>, %[[SCALE:.*]] = %{{.*}}: tensor<32xf16>) outs(%{{.*}}: tensor<256x32xf16>, %{{.*}}: tensor<8x32xf32>)
// CHECK-NEXT: %[[WIDE:.*]] = tenon.cast %[[ACC]] : tensor<256x32xf16> -> tensor<256x32xf32>
// CHECK-NEXT: %[[KEPT:.*]] = arith.truncf %[[WIDE]] : tensor<256x32xf32> to tensor<256x32xf16>
// CHECK-NEXT: %[[Z:.*]] = tenon.mul %[[KEPT]], %[[SCALE]]
// CHECK-NEXT: %[[MO:.*]] = tenon.moments %[[Z]] {rows = 64 : i64} : tensor<256x32xf16> -> tensor<8x32xf32>
// CHECK-NEXT: tenon.yield %[[ACC]], %[[MO]]
// CHECK: %[[Y:.*]]:2 = tenon.epilogue ins(%[[A:.*]] = %[[P]]#0: {{.*}}, %[[S:.*]] = %{{.*}}: tensor<32xf16>, %[[M:.*]] = %[[P]]#1: {{.*}})
// CHECK-NEXT: %[[AGAIN:.*]] = tenon.mul %[[A]], %[[S]]
// CHECK-NEXT: %[[N:.*]] = tenon.batch_norm_training %[[AGAIN]] moments(%[[M]]) {moment_rows = 64 : i64}
// CHECK-NEXT: tenon.yield %[[AGAIN]], %[[N]]
// CHECK: return %[[P]]#0, %[[Y]]#0, %[[Y]]#1
func.func @scaled_behind_result(%x: tensor<256x64xf16>, %w: tensor<32x64xf16>, %s: tensor<32xf16>) -> (tensor<256x32xf16>, tensor<256x32xf16>, tensor<256x32xf16>) {
  %0:3 = tenon.fused_linear %x, %w : tensor<256x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<256x32xf16>, %scale = %s: tensor<32xf16>) -> (tensor<256x32xf16>, tensor<256x32xf16>, tensor<256x32xf16>)
      attributes {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 1x4, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.mul %acc, %scale : tensor<256x32xf16>, tensor<32xf16>
    %2 = tenon.batch_norm_training %1 : (tensor<256x32xf16>) -> tensor<256x32xf16>
    tenon.yield %acc, %1, %2 : tensor<256x32xf16>, tensor<256x32xf16>, tensor<256x32xf16>
  }
  return %0#0, %0#1, %0#2 : tensor<256x32xf16>, tensor<256x32xf16>, tensor<256x32xf16>
}

// -----

// A split product's guard gives the same moments as its main kernel. An operand
// that both parts read is given to both, and what it alone decides is computed
// in both.
// CHECK-LABEL: @split
// CHECK: %[[P:.*]]:2 = tenon.tiled_linear {{.*}} %[[B1:.*]] = %[[B:.*]]: tensor<32xf32>) outs({{.*}}method = fp16x3, reduction = two_phase>
// CHECK-NEXT: %[[S1:.*]] = tenon.sigmoid %[[B1]]
// CHECK-NEXT: %[[Z1:.*]] = tenon.add %{{.*}}, %[[S1]]
// CHECK-NEXT: tenon.moments %[[Z1]] {rows = 64 : i64}
// CHECK: %[[Q:.*]]:2 = tenon.tiled_linear {{.*}} outs(%[[P]]#0: tensor<?x32xf32>, %[[P]]#1: tensor<?x32xf32>) schedule<mma_sync, tile = 64x{{.*}}method = fma, reduction = two_phase>
// CHECK: tenon.moments %{{.*}} {rows = 64 : i64}
// CHECK: tenon.epilogue ins(%{{.*}} = %[[Q]]#0: tensor<?x32xf32>, %[[B2:.*]] = %[[B]]: tensor<32xf32>, %[[M2:.*]] = %[[Q]]#1: tensor<?x32xf32>) outs(%[[Q]]#0: tensor<?x32xf32>)
// CHECK-NEXT: %[[S2:.*]] = tenon.sigmoid %[[B2]]
// CHECK-NEXT: tenon.batch_norm_training %{{.*}} moments(%[[M2]])
// CHECK-NEXT: tenon.mul %{{.*}}, %[[S2]]
// BUFFER-LABEL: @split
// BUFFER: tenon.tiled_linear {{.*}} outs(%[[Z:.*]]: memref<?x32xf32>, %[[M:.*]]: memref<?x32xf32>)
// BUFFER-NOT: memref.copy
// BUFFER: tenon.tiled_linear {{.*}} outs(%[[Z]]: memref<?x32xf32>, %[[M]]: memref<?x32xf32>)
// BUFFER-NOT: memref.copy
// BUFFER: tenon.epilogue ins(%{{.*}} = %[[Z]]: memref<?x32xf32>, {{.*}} = %[[M]]: memref<?x32xf32>) outs(%[[Z]]: memref<?x32xf32>)
func.func @split(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %bias = %b: tensor<32xf32>) -> tensor<?x32xf32>
      attributes {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, method = fp16x3, reduction = two_phase>, strategy = #tenon.strategy<tiled>} {
    %s = tenon.sigmoid %bias : tensor<32xf32>
    %1 = tenon.add %acc, %s : tensor<?x32xf32>, tensor<32xf32>
    %2 = tenon.batch_norm_training %1 : (tensor<?x32xf32>) -> tensor<?x32xf32>
    %3 = tenon.mul %2, %s : tensor<?x32xf32>, tensor<32xf32>
    tenon.yield %3 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// Running statistics are updated in place where the caller's buffer allows, but
// the residual's buffer is not taken for moments that happen to have its type.
// BUFFER-LABEL: @resident
// BUFFER: tenon.tiled_linear {{.*}} outs({{.*}}: memref<256x32xf32>, {{.*}}: memref<32xf32>, {{.*}}: memref<32xf32>) workspace({{.*}}reduction = resident>
// CHECK-LABEL: @resident
// CHECK: tenon.tiled_linear {{.*}} outs({{.*}}: tensor<256x32xf32>, {{.*}}: tensor<32xf32>, {{.*}}: tensor<32xf32>) workspace({{.*}}reduction = resident>
// CHECK-NOT: tenon.epilogue
// CHECK: tenon.batch_norm_training
func.func @resident(%x: tensor<256x64xf32>, %w: tensor<32x64xf32>, %rm: tensor<32xf32>, %rv: tensor<32xf32>) -> (tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %0:3 = tenon.fused_linear %x, %w precision<tf32> : tensor<256x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<256x32xf32>, %m = %rm: tensor<32xf32>, %v = %rv: tensor<32xf32>) -> (tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>)
      attributes {schedule = #tenon.schedule<wgmma, tile = 128x32x32, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = resident>, strategy = #tenon.strategy<tiled>} {
    %1:3 = tenon.batch_norm_training %acc running(%m, %v) : (tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>)
    tenon.yield %1#0, %1#1, %1#2 : tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<256x32xf32>, tensor<32xf32>, tensor<32xf32>
}

// -----

// The batch's moments are combined from those of tiles: what they are of is not read again, and keeps its buffer.
// CHECK-LABEL: @batch_moments
// CHECK: %[[P:.*]]:2 = tenon.tiled_linear {{.*}} reduction = two_phase>
// CHECK-NEXT: %[[Z:.*]] = tenon.mul
// CHECK-NEXT: %[[MO:.*]] = tenon.moments %[[Z]] {rows = 64 : i64}
// CHECK-NEXT: tenon.yield %[[Z]], %[[MO]]
// CHECK: %[[Y:.*]]:2 = tenon.epilogue ins(%[[A:.*]] = %[[P]]#0: tensor<?x32xbf16>, %[[MA:.*]] = %[[P]]#1: tensor<?x32xf32>) outs(%{{.*}}: tensor<32xf32>, %{{.*}}: tensor<32xf32>)
// CHECK-NEXT: %[[MEAN:.*]], %[[M2:.*]] = tenon.batch_moments %[[A]] moments(%[[MA]]) {moment_rows = 64 : i64}
// CHECK-NEXT: tenon.yield %[[MEAN]], %[[M2]]
// CHECK: return %[[P]]#0, %[[Y]]#0, %[[Y]]#1
// BUFFER-LABEL: @batch_moments
// BUFFER: tenon.tiled_linear {{.*}} outs(%[[Z:.*]]: memref<?x32xbf16>, %[[M:.*]]: memref<?x32xf32>)
// BUFFER: tenon.epilogue ins(%{{.*}} = %[[Z]]: memref<?x32xbf16>, %{{.*}} = %[[M]]: memref<?x32xf32>) outs(%{{.*}}: memref<32xf32>, %{{.*}}: memref<32xf32>)
// BUFFER-NOT: memref.copy
// BUFFER: return %[[Z]]
func.func @batch_moments(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>) -> (tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>) {
  %0:3 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<?x32xbf16>) -> (tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>)
      attributes {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.mul %acc, 2.0 : tensor<?x32xbf16>
    %2:2 = tenon.batch_moments %1 : (tensor<?x32xbf16>) -> (tensor<32xf32>, tensor<32xf32>)
    tenon.yield %1, %2#0, %2#1 : tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<?x32xbf16>, tensor<32xf32>, tensor<32xf32>
}

// -----

// Sums of what is stored, and of what is made of it and is not: where rows are in
// registers. Nothing but sums of 64 rows is left to the epilogue, and what says
// how many rows there are.
// CHECK-LABEL: @sums
// CHECK: %[[P:.*]]:3 = tenon.tiled_linear {{.*}} outs(%{{.*}}: tensor<300x32xbf16>, %{{.*}}: tensor<5x32xf32>, %{{.*}}: tensor<5x32xf32>)
// CHECK-NEXT: %[[Z:.*]] = tenon.gate
// CHECK-NEXT: %[[S:.*]] = tenon.moments %[[Z]] {rows = 64 : i64, sums} : tensor<300x32xbf16> -> tensor<5x32xf32>
// CHECK-NEXT: %[[T:.*]] = tenon.mul %[[Z]],
// CHECK-NEXT: %[[U:.*]] = tenon.moments %[[T]] {rows = 64 : i64, sums} : tensor<300x32xbf16> -> tensor<5x32xf32>
// CHECK-NEXT: tenon.yield %[[Z]], %[[S]], %[[U]]
// CHECK: %[[E:.*]]:2 = tenon.epilogue ins(%[[A:.*]] = %[[P]]#0: tensor<300x32xbf16>, %[[B:.*]] = %[[P]]#1: tensor<5x32xf32>, %[[C:.*]] = %[[P]]#2: tensor<5x32xf32>)
// CHECK-NEXT: %[[V:.*]] = tenon.batch_sum %[[A]] moments(%[[B]]) {moment_rows = 64 : i64}
// CHECK-NEXT: %[[W:.*]] = tenon.batch_sum %[[A]] moments(%[[C]]) {moment_rows = 64 : i64}
// CHECK-NEXT: tenon.yield %[[V]], %[[W]]
// CHECK: return %[[P]]#0, %[[E]]#0, %[[E]]#1
func.func @sums(%x: tensor<300x64xbf16>, %w: tensor<32x64xbf16>, %h: tensor<300x32xbf16>) -> (tensor<300x32xbf16>, tensor<32xf32>, tensor<32xbf16>) {
  %0:3 = tenon.fused_linear %x, %w : tensor<300x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<300x32xbf16>, %a = %h: tensor<300x32xbf16>) -> (tensor<300x32xbf16>, tensor<32xf32>, tensor<32xbf16>)
      attributes {schedule = #tenon.schedule<wgmma, tile = 64x64x64, warps = 1x4, stages = 4, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.gate %acc, %a : tensor<300x32xbf16>, tensor<300x32xbf16>
    %2 = tenon.batch_sum %1 : (tensor<300x32xbf16>) -> tensor<32xf32>
    %3 = tenon.mul %1, %a : tensor<300x32xbf16>, tensor<300x32xbf16>
    %4 = tenon.batch_sum %3 : (tensor<300x32xbf16>) -> tensor<32xbf16>
    tenon.yield %1, %2, %4 : tensor<300x32xbf16>, tensor<32xf32>, tensor<32xbf16>
  }
  return %0#0, %0#1, %0#2 : tensor<300x32xbf16>, tensor<32xf32>, tensor<32xbf16>
}
