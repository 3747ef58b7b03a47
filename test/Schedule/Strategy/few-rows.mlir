// Few rows on sm_90a: w is all that there is to read. With operands swapped wgmma's tiles have hardly more rows than
// there are. What was measured: benchmarks/results/sm90a_swapped.json and sm90a_few_rows.json.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --remarks-filter=tenon-select-strategy -o /dev/null 2>&1 \
// RUN:   | FileCheck %s
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a | FileCheck %s --check-prefix=IR
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled" | FileCheck %s --check-prefix=TILED
// Run again, the pass changes nothing.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a -o %t.once
// RUN: tenon-opt %t.once --tenon-select-strategy=targets=sm_90a | diff %t.once -

// CHECK: Function=sixteen_rows | Reason="wgmma, tiles of 16x64x64 by 4 warps, operands swapped, 12 stages, {{.*}}Remark="tiled: tiled is predicted to take at most 0.95 of the library's time"
// IR-LABEL: @sixteen_rows
// IR: #tenon.schedule<wgmma, tile = 16x64x64, warps = 1x4, stages = 12, swizzle = 128, {{.*}}, strategy = #tenon.strategy<tiled>
// TILED-LABEL: @sixteen_rows
// TILED: #tenon.schedule<wgmma, tile = 16x64x64, warps = 1x4, stages = 12
func.func @sixteen_rows(%x: tensor<16x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<16x4096xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<16x4096xbf16>, tensor<4096x4096xbf16>
      epilogue(%acc: tensor<16x4096xbf16>) -> tensor<16x4096xbf16> {
    %1 = tenon.leaky_relu %acc : tensor<16x4096xbf16>
    tenon.yield %1 : tensor<16x4096xbf16>
  }
  return %0 : tensor<16x4096xbf16>
}

// One row more is a tile of eight rows more.
// CHECK: Function=seventeen_rows | Reason="wgmma, tiles of 24x64x64 by 4 warps, operands swapped, {{.*}}Remark="tiled:
// TILED-LABEL: @seventeen_rows
// TILED: #tenon.schedule<wgmma, tile = 24x64x64, warps = 1x4
func.func @seventeen_rows(%x: tensor<17x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<17x4096xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<17x4096xbf16>, tensor<4096x4096xbf16>
      epilogue(%acc: tensor<17x4096xbf16>) -> tensor<17x4096xbf16> {
    %1 = tenon.leaky_relu %acc : tensor<17x4096xbf16>
    tenon.yield %1 : tensor<17x4096xbf16>
  }
  return %0 : tensor<17x4096xbf16>
}

// 64 rows fill wgmma's, and tiles of 32 columns a wave.
// CHECK: Function=full_rows | Reason="wgmma, tiles of 64x32x64 by 4 warps, {{.*}}Remark="tiled:
func.func @full_rows(%x: tensor<64x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<64x4096xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<64x4096xbf16>, tensor<4096x4096xbf16>
      epilogue(%acc: tensor<64x4096xbf16>) -> tensor<64x4096xbf16> {
    %1 = tenon.leaky_relu %acc : tensor<64x4096xbf16>
    tenon.yield %1 : tensor<64x4096xbf16>
  }
  return %0 : tensor<64x4096xbf16>
}

// Of 96, two tiles of 64 would have 32 that are not there.
// CHECK: Function=half_rows | Reason="wgmma, tiles of 96x64x64 by 4 warps, operands swapped, stream_k, {{.*}}; {{.*}}Remark="tiled:
func.func @half_rows(%x: tensor<96x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<96x4096xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<96x4096xbf16>, tensor<4096x4096xbf16>
      epilogue(%acc: tensor<96x4096xbf16>) -> tensor<96x4096xbf16> {
    %1 = tenon.leaky_relu %acc : tensor<96x4096xbf16>
    tenon.yield %1 : tensor<96x4096xbf16>
  }
  return %0 : tensor<96x4096xbf16>
}

// What TMA cannot store, threads do.
// CHECK: Function=odd_columns | Reason="wgmma, tiles of 24x64x64 by 4 warps, operands swapped, {{.*}}Remark="tiled:
func.func @odd_columns(%x: tensor<20x4096xbf16>, %w: tensor<4093x4096xbf16>) -> tensor<20x4093xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<20x4096xbf16>, tensor<4093x4096xbf16>
      epilogue(%acc: tensor<20x4093xbf16>) -> tensor<20x4093xbf16> {
    %1 = tenon.leaky_relu %acc : tensor<20x4093xbf16>
    tenon.yield %1 : tensor<20x4093xbf16>
  }
  return %0 : tensor<20x4093xbf16>
}

// Rows of K that are no multiples of 16 bytes TMA cannot copy, nor mma_sync fast.
// CHECK: Function=odd_k | Reason="mma_sync, since TMA copies rows of multiples of 16 bytes, {{.*}}Remark="library: on sm_90a the library multiplies with a faster instruction than mma.sync"
func.func @odd_k(%x: tensor<16x4093xbf16>, %w: tensor<4096x4093xbf16>) -> tensor<16x4096xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<16x4093xbf16>, tensor<4096x4093xbf16>
      epilogue(%acc: tensor<16x4096xbf16>) -> tensor<16x4096xbf16> {
    %1 = tenon.leaky_relu %acc : tensor<16x4096xbf16>
    tenon.yield %1 : tensor<16x4096xbf16>
  }
  return %0 : tensor<16x4096xbf16>
}

// The library's own epilogue needs no kernel beside the product's.
// CHECK: Function=bare | {{.*}}Remark="library: tiled is not predicted to take at most 0.50 of the library's time"
func.func @bare(%x: tensor<16x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<16x4096xbf16> {
  %0 = tenon.linear %x, %w : (tensor<16x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<16x4096xbf16>
  return %0 : tensor<16x4096xbf16>
}

// A w that L2 cannot keep is read at memory's rate by both.
// CHECK: Function=from_memory | {{.*}}Remark="library: tiled is not predicted to take at most 0.95 of the library's time"
func.func @from_memory(%x: tensor<3x4096xbf16>, %w: tensor<11008x4096xbf16>) -> tensor<3x11008xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<3x4096xbf16>, tensor<11008x4096xbf16>
      epilogue(%acc: tensor<3x11008xbf16>) -> tensor<3x11008xbf16> {
    %1 = tenon.leaky_relu %acc : tensor<3x11008xbf16>
    tenon.yield %1 : tensor<3x11008xbf16>
  }
  return %0 : tensor<3x11008xbf16>
}

// A short K needs no partial tiles where those of 64 columns fill a wave.
// CHECK: Function=short_k | Reason="wgmma, tiles of 8x64x64 by 4 warps, operands swapped, {{.*}}Remark="tiled:
func.func @short_k(%x: tensor<2x1024xbf16>, %w: tensor<8192x1024xbf16>) -> tensor<2x8192xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<2x1024xbf16>, tensor<8192x1024xbf16>
      epilogue(%acc: tensor<2x8192xbf16>) -> tensor<2x8192xbf16> {
    %1 = tenon.leaky_relu %acc : tensor<2x8192xbf16>
    tenon.yield %1 : tensor<2x8192xbf16>
  }
  return %0 : tensor<2x8192xbf16>
}

// Halves of f32 were not measured with operands swapped; f32 itself was.
// CHECK: Function=halves | Reason="wgmma, tiles of 16x64x32 by 4 warps, operands swapped, {{.*}}Remark="tiled:
func.func @halves(%x: tensor<16x4096xf32>, %w: tensor<4096x4096xf32> {tenon.param}) -> tensor<16x4096xf32> {
  %0 = tenon.fused_linear %x, %w precision<tf32> : tensor<16x4096xf32>, tensor<4096x4096xf32>
      epilogue(%acc: tensor<16x4096xf32>) -> tensor<16x4096xf32> {
    %1 = tenon.leaky_relu %acc : tensor<16x4096xf32>
    tenon.yield %1 : tensor<16x4096xf32>
  }
  return %0 : tensor<16x4096xf32>
}

// Of one row cuBLAS computes tf32 as f32: a tiled kernel would be as fast, and err more. Written on all layers, tf32 it is.
// CHECK: Function=one_row_tf32 | Reason="{{.*}}Remark="library: of one row the library does not round x and w to tf32, and errs less"
// IR-LABEL: @one_row_tf32
// IR: strategy = #tenon.strategy<library>
// TILED-LABEL: @one_row_tf32
// TILED: strategy = #tenon.strategy<tiled>
func.func @one_row_tf32(%x: tensor<1x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<1x4096xf32> {
  %0 = tenon.fused_linear %x, %w precision<tf32> : tensor<1x4096xf32>, tensor<4096x4096xf32>
      epilogue(%acc: tensor<1x4096xf32>) -> tensor<1x4096xf32> {
    %1 = tenon.leaky_relu %acc : tensor<1x4096xf32>
    tenon.yield %1 : tensor<1x4096xf32>
  }
  return %0 : tensor<1x4096xf32>
}

// Two rows are left to times: of how few it does so was not measured.
// CHECK: Function=two_rows_tf32 | Reason="{{.*}}Remark="tiled:
func.func @two_rows_tf32(%x: tensor<2x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<2x4096xf32> {
  %0 = tenon.fused_linear %x, %w precision<tf32> : tensor<2x4096xf32>, tensor<4096x4096xf32>
      epilogue(%acc: tensor<2x4096xf32>) -> tensor<2x4096xf32> {
    %1 = tenon.leaky_relu %acc : tensor<2x4096xf32>
    tenon.yield %1 : tensor<2x4096xf32>
  }
  return %0 : tensor<2x4096xf32>
}
