// Bytes whose blocks have scales are multiplied where a kernel can, and elsewhere what they are as f32.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --split-input-file --remarks-filter=tenon-select-strategy -o %t 2>%t.remarks
// RUN: FileCheck %s --input-file=%t
// RUN: FileCheck %s --input-file=%t.remarks --check-prefix=WHY
// Run again, the pass changes nothing.
// RUN: tenon-opt %t --tenon-select-strategy=targets=sm_90a --split-input-file | diff %t -
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_80 --split-input-file | FileCheck %s --check-prefix=OTHER
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=library" --split-input-file | FileCheck %s --check-prefix=OTHER
// What a kernel takes as it is, nothing is made of, whether with each call or before.
// RUN: tenon-opt %t --split-input-file --tenon-hoist-prepare --tenon-to-tiled --canonicalize --cse | FileCheck %s --check-prefix=TILED

// CHECK-LABEL: @deepseek
// CHECK: tenon.fused_linear {{.*}} precision<tf32> {{.*}} #tenon.schedule<wgmma, tile = {{[0-9]+x[0-9]+}}x128, warps = {{[48]}}x1, {{.*}}method = fp8>, strategy = #tenon.strategy<tiled>
// WHY: Function=deepseek | {{.*}}tiled: the library would multiply f32 that other kernels make of bytes and their blocks' scales
// OTHER-LABEL: @deepseek
// OTHER-NOT: method = fp8
// TILED-LABEL: @deepseek
// TILED-NOT: tenon.scale_blocks
// TILED: tenon.tiled_linear %arg0, %arg1 : tensor<?x7168xf8E4M3FN>, tensor<576x7168xf8E4M3FN> factors(%arg2, %arg3 : tensor<?x56xf32>, tensor<5x56xf32>)
// TILED-NOT: tenon.scale_blocks
func.func @deepseek(%x: tensor<?x7168xf8E4M3FN>, %w: tensor<576x7168xf8E4M3FN> {tenon.param}, %s: tensor<?x56xf32>,
                    %t: tensor<5x56xf32> {tenon.param}) -> tensor<?x576xbf16> {
  %0 = tenon.scale_blocks %x, %s {rows = 1, columns = 128} : (tensor<?x7168xf8E4M3FN>, tensor<?x56xf32>) -> tensor<?x7168xf32>
  %1 = tenon.scale_blocks %w, %t {rows = 128, columns = 128} : (tensor<576x7168xf8E4M3FN>, tensor<5x56xf32>) -> tensor<576x7168xf32>
  %2 = tenon.fused_linear %0, %1 precision<tf32> : tensor<?x7168xf32>, tensor<576x7168xf32> epilogue(%acc: tensor<?x576xf32>) -> tensor<?x576xbf16> {
    %3 = tenon.cast %acc : tensor<?x576xf32> -> tensor<?x576xbf16>
    tenon.yield %3 : tensor<?x576xbf16>
  }
  return %2 : tensor<?x576xbf16>
}

// -----

// More is asked than sums of 8 bits give.
// CHECK-LABEL: @precise
// CHECK-NOT: method = fp8
// OTHER-LABEL: @precise
// TILED-LABEL: @precise
func.func @precise(%x: tensor<64x512xf8E4M3FN>, %w: tensor<128x512xf8E4M3FN>, %s: tensor<64x4xf32>, %t: tensor<1x4xf32>) -> tensor<64x128xf32> {
  %0 = tenon.scale_blocks %x, %s {rows = 1, columns = 128} : (tensor<64x512xf8E4M3FN>, tensor<64x4xf32>) -> tensor<64x512xf32>
  %1 = tenon.scale_blocks %w, %t {rows = 128, columns = 128} : (tensor<128x512xf8E4M3FN>, tensor<1x4xf32>) -> tensor<128x512xf32>
  %2 = tenon.linear %0, %1 : (tensor<64x512xf32>, tensor<128x512xf32>) -> tensor<64x128xf32>
  return %2 : tensor<64x128xf32>
}

// -----

// Each row of w would have scales of its own.
// CHECK-LABEL: @rows_of_w
// CHECK-NOT: method = fp8
// OTHER-LABEL: @rows_of_w
func.func @rows_of_w(%x: tensor<64x512xf8E4M3FN>, %w: tensor<128x512xf8E4M3FN>, %s: tensor<64x4xf32>, %t: tensor<128x4xf32>) -> tensor<64x128xf32> {
  %0 = tenon.scale_blocks %x, %s {rows = 1, columns = 128} : (tensor<64x512xf8E4M3FN>, tensor<64x4xf32>) -> tensor<64x512xf32>
  %1 = tenon.scale_blocks %w, %t {rows = 1, columns = 128} : (tensor<128x512xf8E4M3FN>, tensor<128x4xf32>) -> tensor<128x512xf32>
  %2 = tenon.linear %0, %1 precision<tf32> : (tensor<64x512xf32>, tensor<128x512xf32>) -> tensor<64x128xf32>
  return %2 : tensor<64x128xf32>
}

// -----

// Tiles that do not fill a wave divide K.
// CHECK-LABEL: @few_rows
// CHECK: #tenon.schedule<wgmma, tile = 128x{{[0-9]+}}x128, {{.*}}stream_k = true, {{.*}}method = fp8>
// OTHER-LABEL: @few_rows
func.func @few_rows(%x: tensor<128x16384xf8E4M3FN>, %w: tensor<7168x16384xf8E4M3FN>, %s: tensor<128x128xf32>,
                    %t: tensor<56x128xf32>) -> tensor<128x7168xf32> {
  %0 = tenon.scale_blocks %x, %s {rows = 1, columns = 128} : (tensor<128x16384xf8E4M3FN>, tensor<128x128xf32>) -> tensor<128x16384xf32>
  %1 = tenon.scale_blocks %w, %t {rows = 128, columns = 128} : (tensor<7168x16384xf8E4M3FN>, tensor<56x128xf32>) -> tensor<7168x16384xf32>
  %2 = tenon.linear %0, %1 precision<tf32> : (tensor<128x16384xf32>, tensor<7168x16384xf32>) -> tensor<128x7168xf32>
  return %2 : tensor<128x7168xf32>
}
