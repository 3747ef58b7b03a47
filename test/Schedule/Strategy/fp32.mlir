// Layers of precision fp32: three products of f16 by method fp16x3, which auto takes where that is predicted to be faster than SGEMM.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled" --split-input-file | FileCheck %s --check-prefixes=CHECK,SM90A
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_80 strategy=tiled" --split-input-file | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_80,sm_86,sm_89,sm_90,sm_90a strategy=tiled" --split-input-file \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ALL --implicit-check-not='schedule<wgmma'
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled" --split-input-file \
// RUN:   --remarks-filter=tenon-select-strategy --verify-diagnostics -o /dev/null
// Run again, the pass changes nothing.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled" --split-input-file -o %t.once
// RUN: tenon-opt %t.once --tenon-select-strategy="targets=sm_90a" --split-input-file | diff %t.once -
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --split-input-file --remarks-filter=tenon-select-strategy -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=AUTO
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_80 --split-input-file | FileCheck %s --check-prefix=AUTO80

// Both operands are split, and stay beside their halves; the widest tile that fills whole waves is taken.
// CHECK-LABEL: @large
// CHECK-SAME: (%[[X:.*]]: tensor<1024x8192xf32>, %[[W:.*]]: tensor<8192x8192xf32> {tenon.param})
// CHECK-NEXT: %[[XS:.*]]:2 = tenon.split %[[X]] : (tensor<1024x8192xf32>) -> (tensor<1024x16384xf16>, tensor<1024x1xf32>)
// CHECK-NEXT: %[[XW:.*]] = tenon.with_split %[[X]], %[[XS]]#0, %[[XS]]#1
// CHECK-NEXT: %[[WS:.*]]:2 = tenon.split %[[W]]
// CHECK-NEXT: %[[WW:.*]] = tenon.with_split %[[W]], %[[WS]]#0, %[[WS]]#1
// CHECK-NEXT: tenon.linear %[[XW]], %[[WW]] {
// SM90A-SAME: #tenon.schedule<wgmma, tile = 128x168x64, warps = 8x1, stages = 5, swizzle = 128, raster = 16, blocks = 1, method = fp16x3>, strategy = #tenon.strategy<tiled>
// SM80-SAME: #tenon.schedule<mma_sync, tile = 128x128x64, warps = 2x4, stages = 4, swizzle = 128, raster = 16, blocks = 1, stream_k = true, method = fp16x3>, strategy = #tenon.strategy<tiled>
// ALL-SAME: #tenon.schedule<mma_sync, tile = {{.*}}x64, {{.*}} method = fp16x3>
// AUTO: Function=large | Reason="wgmma fp16x3, tiles of 128x168x64 by 8 warps, 5 stages, {{[0-9]+}} bytes of shared memory; M = 1024, sm_90a: 2.97 waves, {{[0-9.]+}} us tiled, {{[0-9.]+}} us by the library", Remark="tiled: tiled is predicted to take at most 0.80 of the library's time"
// AUTO80-LABEL: @large
// AUTO80: method = fp16x3>, strategy = #tenon.strategy<tiled>
func.func @large(%x: tensor<1024x8192xf32>, %w: tensor<8192x8192xf32> {tenon.param}) -> tensor<1024x8192xf32> {
  // expected-remark @below {{Remark="tiled: strategy=tiled"}}
  %0 = tenon.linear %x, %w : (tensor<1024x8192xf32>, tensor<8192x8192xf32>) -> tensor<1024x8192xf32>
  return %0 : tensor<1024x8192xf32>
}

// -----

// One row cuBLAS multiplies by a kernel that is as fast as memory nearly allows, and errs little; from 2 on it takes a tile of 64 rows.
// CHECK-LABEL: @few_rows
// CHECK-COUNT-2: method = fp16x3
// AUTO: Function=few_rows | {{.*}}M = 1, {{.*}}Remark="library: tiled is not predicted to take at most 0.50 of the library's time"
// AUTO: Function=few_rows | {{.*}}M = 2, {{.*}}Remark="tiled: tiled is predicted to take at most 0.80 of the library's time"
// AUTO80-LABEL: @few_rows
// AUTO80: #tenon.strategy<library>
// AUTO80: method = fp16x3>, strategy = #tenon.strategy<tiled>
func.func @few_rows(%x: tensor<1x8192xf32>, %z: tensor<2x8192xf32>, %w: tensor<8192x8192xf32> {tenon.param}) -> (tensor<1x8192xf32>, tensor<2x8192xf32>) {
  // expected-remark @below {{M = 1, }}
  %0 = tenon.linear %x, %w : (tensor<1x8192xf32>, tensor<8192x8192xf32>) -> tensor<1x8192xf32>
  // expected-remark @below {{M = 2, }}
  %1 = tenon.linear %z, %w : (tensor<2x8192xf32>, tensor<8192x8192xf32>) -> tensor<2x8192xf32>
  return %0, %1 : tensor<1x8192xf32>, tensor<2x8192xf32>
}

// -----

// A batch that may be anything has stream-K; few rows have a small tile.
// CHECK-LABEL: @rows
// SM90A: #tenon.schedule<wgmma, {{.*}}, stream_k = true, {{.*}}method = fp16x3>
// SM90A: #tenon.schedule<wgmma, tile = 64x{{.*}}, warps = 4x1, {{.*}}method = fp16x3>
// SM80: #tenon.schedule<mma_sync, {{.*}}, stream_k = true, method = fp16x3>
// SM80: #tenon.schedule<mma_sync, tile = 16x{{.*}}method = fp16x3>
func.func @rows(%x: tensor<?x4096xf32>, %z: tensor<8x4096xf32>, %w: tensor<4096x4096xf32>) -> (tensor<?x4096xf32>, tensor<8x4096xf32>) {
  // expected-remark-re @below {{stream_k, {{.*}}; M = 1024 (dynamic), }}
  %0 = tenon.linear %x, %w : (tensor<?x4096xf32>, tensor<4096x4096xf32>) -> tensor<?x4096xf32>
  // expected-remark @below {{M = 8, }}
  %1 = tenon.linear %z, %w : (tensor<8x4096xf32>, tensor<4096x4096xf32>) -> tensor<8x4096xf32>
  return %0, %1 : tensor<?x4096xf32>, tensor<8x4096xf32>
}

// -----

// Layers that share an operand share its halves; what is split into one part is split anew.
// CHECK-LABEL: @shared_operands
// CHECK-SAME: (%[[X:.*]]: tensor<64x64xf32>, %[[W:.*]]: tensor<64x64xf32>)
// CHECK-COUNT-2: tenon.split {{.*}} -> (tensor<64x128xf16>,
// CHECK-NOT: tenon.split
// CHECK-COUNT-3: method = fp16x3
// CHECK-COUNT-2: tenon.split {{.*}} -> (tensor<64x64xf16>,
// CHECK-NOT: tenon.split
// CHECK: method = fp16>
func.func @shared_operands(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // expected-remark @below {{tiled: strategy=tiled}}
  %1 = tenon.linear %x, %w precision<fp32> : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // expected-remark @below {{tiled: strategy=tiled}}
  %2 = tenon.linear %w, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // expected-remark @below {{tiled: written on the layer}}
  %3 = tenon.linear %x, %w precision<tf32> {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128,
      raster = 8, blocks = 1, method = fp16>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return
}

// -----

// So few products are not as precise when they are split.
// CHECK-LABEL: @few_columns
// CHECK-NOT: tenon.split
// CHECK: #tenon.schedule<mma_sync, tile = {{.*}}x32, {{.*}}method = fma>
// AUTO: Function=few_columns | Reason="mma_sync fma, tiles of
// AUTO80-LABEL: @few_columns
// AUTO80: #tenon.strategy<library>
func.func @few_columns(%x: tensor<?x63xf32>, %w: tensor<128x63xf32>) -> tensor<?x128xf32> {
  // expected-remark @below {{Reason="mma_sync fma, tiles of}}
  %0 = tenon.linear %x, %w : (tensor<?x63xf32>, tensor<128x63xf32>) -> tensor<?x128xf32>
  return %0 : tensor<?x128xf32>
}

// -----

// Tiles give the moments of what a batch norm reduces.
// CHECK-LABEL: @reduction
// CHECK: tenon.fused_linear {{.*}}method = fp16x3, reduction = two_phase>, strategy = #tenon.strategy<tiled>}
// AUTO80-LABEL: @reduction
// AUTO80: attributes {strategy = #tenon.strategy<library>}
func.func @reduction(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{Reason="the product with moments for the batch norm; input_moments by fp16x3}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.batch_norm_training %acc : (tensor<?x32xf32>) -> tensor<?x32xf32>
    tenon.yield %1 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// What is written is kept, in any method that is precise enough; tf32 has a choice of all.
// CHECK-LABEL: @written
// CHECK-COUNT-2: method = fma>
// CHECK: method = fp16x3>
// CHECK-NOT: tenon.round_tf32
// CHECK: return
func.func @written(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) {
  // expected-remark @below {{Reason="mma_sync fma, tiles of 64x64x32,}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8,
      blocks = 1, method = fma>} : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  // expected-remark @below {{tiled: written on the layer}}
  %1 = tenon.linear %x, %w precision<tf32> {schedule = #tenon.schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128,
      raster = 8, blocks = 1, method = fma>} : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  // expected-remark @below {{tiled: written on the layer}}
  %2 = tenon.linear %x, %w precision<tf32> {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128,
      raster = 8, blocks = 1, method = fp16x3>} : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return
}

// -----

// TMA copies halves, whose rows are whole, whatever K is.
// CHECK-LABEL: @any_columns
// SM90A: #tenon.schedule<wgmma, {{.*}}method = fp16x3>
func.func @any_columns(%x: tensor<64x1001xf32>, %w: tensor<32x1001xf32>) -> tensor<64x32xf32> {
  // expected-remark @below {{Reason="wgmma fp16x3, tiles of}}
  %0 = tenon.linear %x, %w : (tensor<64x1001xf32>, tensor<32x1001xf32>) -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}

// -----

// Results that TMA cannot store take registers: then a warpgroup has 64 rows.
// CHECK-LABEL: @odd_columns
// SM90A: #tenon.schedule<wgmma, tile = {{64x[0-9]+x64, warps = 4x1|128x[0-9]+x64, warps = 8x1}}, {{.*}}method = fp16x3>
func.func @odd_columns(%x: tensor<65536x4096xf32>, %w: tensor<61x4096xf32>) -> tensor<65536x61xf32> {
  // expected-remark @below {{Reason="wgmma fp16x3, tiles of}}
  %0 = tenon.linear %x, %w : (tensor<65536x4096xf32>, tensor<61x4096xf32>) -> tensor<65536x61xf32>
  return %0 : tensor<65536x61xf32>
}
