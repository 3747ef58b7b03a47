// Few rows on sm_90a: w is all that there is to read, so kernels of mma_sync, whose tiles have 16 rows, are weighed
// beside those of wgmma. What was measured: benchmarks/results/sm90a_few_rows.json.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --remarks-filter=tenon-select-strategy -o /dev/null 2>&1 \
// RUN:   | FileCheck %s
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a | FileCheck %s --check-prefix=IR
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled" | FileCheck %s --check-prefix=TILED
// Run again, the pass changes nothing.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a -o %t.once
// RUN: tenon-opt %t.once --tenon-select-strategy=targets=sm_90a | diff %t.once -

// CHECK: Function=sixteen_rows | Reason="mma_sync, since wgmma is slow for so few rows; tiles of 16x128x64, 6 stages, {{.*}}Remark="tiled: predicted much faster on every target"
// IR-LABEL: @sixteen_rows
// IR: #tenon.schedule<mma_sync, tile = 16x128x64, warps = 1x4, stages = 6, swizzle = 128, raster = 16, blocks = 1, stream_k = true>, tenon.strategy = #tenon.strategy<tiled>
// TILED-LABEL: @sixteen_rows
// TILED: #tenon.schedule<mma_sync, tile = 16x128x64, warps = 1x4, stages = 6
func.func @sixteen_rows(%x: tensor<16x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<16x4096xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<16x4096xbf16>, tensor<4096x4096xbf16>
      epilogue(%acc: tensor<16x4096xbf16>) -> tensor<16x4096xbf16> {
    %1 = tenon.leaky_relu %acc : tensor<16x4096xbf16>
    tenon.yield %1 : tensor<16x4096xbf16>
  }
  return %0 : tensor<16x4096xbf16>
}

// One row more, and a tile of 16 rows is not enough.
// CHECK: Function=seventeen_rows | Reason="wgmma, {{.*}}Remark="library: tiled is not predicted to take at most 0.50 of the library's time"
// TILED-LABEL: @seventeen_rows
// TILED: #tenon.schedule<wgmma,
func.func @seventeen_rows(%x: tensor<17x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<17x4096xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<17x4096xbf16>, tensor<4096x4096xbf16>
      epilogue(%acc: tensor<17x4096xbf16>) -> tensor<17x4096xbf16> {
    %1 = tenon.leaky_relu %acc : tensor<17x4096xbf16>
    tenon.yield %1 : tensor<17x4096xbf16>
  }
  return %0 : tensor<17x4096xbf16>
}

// The library's own epilogue needs no kernel beside the product's.
// CHECK: Function=bare | {{.*}}Remark="library: tiled is not predicted to take at most 0.50 of the library's time"
func.func @bare(%x: tensor<16x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<16x4096xbf16> {
  %0 = tenon.linear %x, %w : (tensor<16x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<16x4096xbf16>
  return %0 : tensor<16x4096xbf16>
}

// A w that L2 cannot keep is read at memory's rate by both. The library measured faster here, by 2 %.
// CHECK: Function=from_memory | {{.*}}Remark="library: tiled is not predicted to take at most 0.50 of the library's time"
func.func @from_memory(%x: tensor<3x4096xbf16>, %w: tensor<11008x4096xbf16>) -> tensor<3x11008xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<3x4096xbf16>, tensor<11008x4096xbf16>
      epilogue(%acc: tensor<3x11008xbf16>) -> tensor<3x11008xbf16> {
    %1 = tenon.leaky_relu %acc : tensor<3x11008xbf16>
    tenon.yield %1 : tensor<3x11008xbf16>
  }
  return %0 : tensor<3x11008xbf16>
}

// So does a short K: what a kernel takes for its start weighs more.
// CHECK: Function=short_k | {{.*}}Remark="library: tiled is not predicted to take at most 0.50 of the library's time"
func.func @short_k(%x: tensor<2x1024xbf16>, %w: tensor<8192x1024xbf16>) -> tensor<2x8192xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<2x1024xbf16>, tensor<8192x1024xbf16>
      epilogue(%acc: tensor<2x8192xbf16>) -> tensor<2x8192xbf16> {
    %1 = tenon.leaky_relu %acc : tensor<2x8192xbf16>
    tenon.yield %1 : tensor<2x8192xbf16>
  }
  return %0 : tensor<2x8192xbf16>
}

// Halves of f32 were not measured with mma_sync.
// CHECK: Function=halves | Reason="wgmma fp16, {{.*}}Remark="library: tiled is not predicted to take at most 0.50 of the library's time"
func.func @halves(%x: tensor<16x4096xf32>, %w: tensor<4096x4096xf32> {tenon.param}) -> tensor<16x4096xf32> {
  %0 = tenon.fused_linear %x, %w precision<tf32> : tensor<16x4096xf32>, tensor<4096x4096xf32>
      epilogue(%acc: tensor<16x4096xf32>) -> tensor<16x4096xf32> {
    %1 = tenon.leaky_relu %acc : tensor<16x4096xf32>
    tenon.yield %1 : tensor<16x4096xf32>
  }
  return %0 : tensor<16x4096xf32>
}
