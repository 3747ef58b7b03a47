// Layers of sm_90a alone multiply with wgmma, where they can.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled" --split-input-file | FileCheck %s
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled" --split-input-file \
// RUN:   --remarks-filter=tenon-select-strategy --verify-diagnostics -o /dev/null
// Run again, the pass changes nothing.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled" --split-input-file -o %t.once
// RUN: tenon-opt %t.once --tenon-select-strategy="targets=sm_90a" --split-input-file | diff %t.once -
// On several targets, or one without wgmma, mma_sync is what all have.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_80,sm_90a strategy=tiled" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=OTHERS --implicit-check-not='schedule<wgmma'
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90 strategy=tiled" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=OTHERS --implicit-check-not='schedule<wgmma'
// auto tiles those that are predicted to take no longer than by the library,
// and clearly less where the library needs no kernel of ours.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --split-input-file | FileCheck %s --check-prefix=AUTO --implicit-check-not='strategy<tiled>'
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --split-input-file --remarks-filter=tenon-select-strategy -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=WHY

// The largest tile where there is work for it, with operands swapped (large-swapped.mlir), in clusters that share x.
// CHECK-LABEL: @large
// CHECK: #tenon.schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1, cluster = 1x2>, strategy = #tenon.strategy<tiled>
// OTHERS: #tenon.schedule<mma_sync, tile = 128x256x64
// AUTO-LABEL: @large
// AUTO: #tenon.strategy<library>
// WHY: Function=large | Reason="wgmma, tiles of 256x128x64 by 8 warps, operands swapped, clusters of 1x2, 4 stages, 231168 bytes of shared memory{{.*}}; M = 16384, sm_90a: 32.00 waves, {{[0-9.]+}} us tiled, {{[0-9.]+}} us by the library", Remark="library: tiled is not predicted to take at most 0.80 of the library's time"
func.func @large(%x: tensor<16384x8192xbf16>, %w: tensor<8448x8192xbf16>) -> tensor<16384x8448xbf16> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w : (tensor<16384x8192xbf16>, tensor<8448x8192xbf16>) -> tensor<16384x8448xbf16>
  return %0 : tensor<16384x8448xbf16>
}

// -----

// Products of f16 take half the time of tf32's, which pays for splitting x in each call, and TMA copies halves
// whatever K is.
// CHECK-LABEL: @tf32_by_fp16
// CHECK-COUNT-2: tenon.split {{.*}} -> (tensor<{{.*}}x8200xf16>,
// CHECK: tenon.linear %{{.*}}, %{{.*}} precision<tf32> {schedule = #tenon.schedule<wgmma, tile = {{[0-9]+x[0-9]+}}x64, {{.*}}method = fp16>
// AUTO-LABEL: @tf32_by_fp16
// AUTO: method = fp16>, strategy = #tenon.strategy<tiled>
// OTHERS: #tenon.schedule<mma_sync, {{.*}}method = fp16>
// WHY: Function=tf32_by_fp16 | Reason="wgmma fp16, tiles of
func.func @tf32_by_fp16(%x: tensor<?x8193xf32>, %w: tensor<8192x8193xf32> {tenon.param}) -> tensor<?x8192xf32> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w precision<tf32> : (tensor<?x8193xf32>, tensor<8192x8193xf32>) -> tensor<?x8192xf32>
  return %0 : tensor<?x8192xf32>
}

// -----

// The schedules that were measured for f16 serve these products too.
// CHECK-LABEL: @tf32_tuned
// CHECK: #tenon.schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1, cluster = {{[12]x[12]}}, defer = true, method = fp16>
// AUTO-LABEL: @tf32_tuned
// AUTO: #tenon.strategy<tiled>
func.func @tf32_tuned(%x: tensor<1024x8192xf32>, %w: tensor<8192x8192xf32> {tenon.param}) -> tensor<1024x8192xf32> {
  // expected-remark @below {{Reason="tuned: wgmma fp16, tiles of 256x128x64}}
  %0 = tenon.linear %x, %w precision<tf32> : (tensor<1024x8192xf32>, tensor<8192x8192xf32>) -> tensor<1024x8192xf32>
  return %0 : tensor<1024x8192xf32>
}

// -----

// A small layer is multiplied as tf32. The tensor map rounds, so nothing is rounded before.
// CHECK-LABEL: @tf32
// CHECK-SAME: (%[[X:.*]]: tensor<?x256xf32>, %[[W:.*]]: tensor<256x256xf32>)
// CHECK-NEXT: tenon.linear %[[X]], %[[W]] precision<tf32> {schedule = #tenon.schedule<wgmma, tile = {{[0-9]+x[0-9]+}}x32,
// OTHERS: tenon.round_tf32
// OTHERS: #tenon.schedule<mma_sync,
func.func @tf32(%x: tensor<?x256xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w precision<tf32> : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}

// -----

// Operands of f32 that are multiplied in 16 bits are cast nevertheless. auto leaves
// a product as small as this to the library.
// CHECK-LABEL: @precision_bf16
// AUTO-LABEL: @precision_bf16
// AUTO: #tenon.strategy<library>
// WHY: Function=precision_bf16 | {{.*}}Remark="library: tiled is not predicted to take at most 0.80 of the library's time"
// CHECK: tenon.cast %{{.*}} : tensor<?x64xf32> -> tensor<?x64xbf16>
// CHECK: tenon.cast %{{.*}} : tensor<32x64xf32> -> tensor<32x64xbf16>
// CHECK-NEXT: tenon.linear %{{.*}} {schedule = #tenon.schedule<wgmma, tile = {{[0-9]+x[0-9]+}}x64,
func.func @precision_bf16(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w precision<bf16> : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

// Stream-K for a batch that may be anything, and none where all waves are whole: 132 tiles of 128x256.
// CHECK-LABEL: @waves
// CHECK: stream_k = true
// CHECK-NOT: stream_k = true
func.func @waves(%x: tensor<?x4096xf16>, %z: tensor<16896x4096xf16>, %w: tensor<256x4096xf16>) -> (tensor<?x256xf16>, tensor<16896x256xf16>) {
  // expected-remark-re @below {{stream_k, {{.*}}; M = 1024 (dynamic), }}
  %0 = tenon.linear %x, %w : (tensor<?x4096xf16>, tensor<256x4096xf16>) -> tensor<?x256xf16>
  // expected-remark @below {{231168 bytes of shared memory; M = 16896, sm_90a: 1.00 waves}}
  %1 = tenon.linear %z, %w : (tensor<16896x4096xf16>, tensor<256x4096xf16>) -> tensor<16896x256xf16>
  return %0, %1 : tensor<?x256xf16>, tensor<16896x256xf16>
}

// -----

// Heavy epilogues are hidden under the products of another tile.
// CHECK-LABEL: @heavy
// CHECK: ping_pong = true
// AUTO-LABEL: @heavy
// AUTO: #tenon.schedule<wgmma, {{.*}}strategy = #tenon.strategy<tiled>
// WHY: Function=heavy | {{.*}}Remark="tiled: tiled is predicted to take at most 1.10 of the library's time"
func.func @heavy(%x: tensor<16384x2048xbf16>, %w: tensor<4096x2048xbf16>) -> tensor<16384x4096xbf16> {
  // expected-remark @below {{, ping_pong, clusters of}}
  %0 = tenon.fused_linear %x, %w : tensor<16384x2048xbf16>, tensor<4096x2048xbf16>
      epilogue(%acc: tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16> {
    %1 = tenon.gelu %acc : tensor<16384x4096xbf16>
    tenon.yield %1 : tensor<16384x4096xbf16>
  }
  return %0 : tensor<16384x4096xbf16>
}

// -----

// So are operands of the product's shape.
// CHECK-LABEL: @residual
// CHECK: ping_pong = true
func.func @residual(%x: tensor<16384x2048xbf16>, %w: tensor<4096x2048xbf16>, %r: tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16> {
  // expected-remark @below {{, ping_pong, clusters of}}
  %0 = tenon.fused_linear %x, %w : tensor<16384x2048xbf16>, tensor<4096x2048xbf16>
      epilogue(%acc: tensor<16384x4096xbf16>, %r_ = %r: tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16> {
    %1 = tenon.add %acc, %r_ : tensor<16384x4096xbf16>, tensor<16384x4096xbf16>
    tenon.yield %1 : tensor<16384x4096xbf16>
  }
  return %0 : tensor<16384x4096xbf16>
}

// -----

// A bias and what costs a few instructions are not worth smaller tiles where K is long.
// CHECK-LABEL: @light
// CHECK-NOT: ping_pong
// AUTO-LABEL: @light
// AUTO: #tenon.schedule<wgmma, {{.*}}strategy = #tenon.strategy<tiled>
// WHY: Function=light | {{.*}}Remark="tiled: tiled is predicted to take at most 1.10 of the library's time"
func.func @light(%x: tensor<16384x8192xbf16>, %w: tensor<4096x8192xbf16>, %b: tensor<4096xbf16>) -> tensor<16384x4096xbf16> {
  // expected-remark @below {{tiles of 256x128x64 by 8 warps, operands swapped, clusters of}}
  %0 = tenon.fused_linear %x, %w : tensor<16384x8192xbf16>, tensor<4096x8192xbf16>
      epilogue(%acc: tensor<16384x4096xbf16>, %b_ = %b: tensor<4096xbf16>) -> tensor<16384x4096xbf16> {
    %1 = tenon.add %acc, %b_ : tensor<16384x4096xbf16>, tensor<4096xbf16>
    %2 = tenon.leaky_relu %1 : tensor<16384x4096xbf16>
    tenon.yield %2 : tensor<16384x4096xbf16>
  }
  return %0 : tensor<16384x4096xbf16>
}

// -----

// TMA cannot copy rows of 2002 bytes; mma.sync's kernels can.
// CHECK-LABEL: @rows_of_odd_bytes
// CHECK: #tenon.schedule<mma_sync,
// AUTO-LABEL: @rows_of_odd_bytes
// AUTO: #tenon.strategy<library>
func.func @rows_of_odd_bytes(%x: tensor<64x1001xf16>, %w: tensor<32x1001xf16>) -> tensor<64x32xf16> {
  // expected-remark @below {{Reason="mma_sync, since TMA copies rows of multiples of 16 bytes, but K = 1001 of f16 has 2002; pad K to 1008; tiles of}}
  %0 = tenon.linear %x, %w : (tensor<64x1001xf16>, tensor<32x1001xf16>) -> tensor<64x32xf16>
  return %0 : tensor<64x32xf16>
}
