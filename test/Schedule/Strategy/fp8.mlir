// Layers of 8 bits have kernels of wgmma, which add up sums of 128 of K in f32.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --split-input-file | FileCheck %s
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --split-input-file --remarks-filter=tenon-select-strategy -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=WHY
// Run again, the pass changes nothing.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --split-input-file -o %t.once
// RUN: tenon-opt %t.once --tenon-select-strategy=targets=sm_90a --split-input-file | diff %t.once -
// Elsewhere f16 are multiplied.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_80 --split-input-file | FileCheck %s --check-prefix=F16
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_80,sm_90a --split-input-file | FileCheck %s --check-prefix=F16
// cuBLASLt multiplies bytes along K of sm_89 and later.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=library" --split-input-file | FileCheck %s --check-prefix=LIBRARY
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_89" --split-input-file | FileCheck %s --check-prefix=LIBRARY
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_89 strategy=tiled" --split-input-file | FileCheck %s --check-prefix=MMA
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_80 strategy=library" --split-input-file | FileCheck %s --check-prefix=F16
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_80 --split-input-file --remarks-filter=tenon-select-strategy -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=WIDENED

// CHECK-LABEL: @scaled
// CHECK-NOT: tenon.cast
// What a last wave that is divided should gain it does not.
// CHECK: tenon.fused_linear {{.*}} #tenon.schedule<wgmma, tile = 128x{{[0-9]+}}x128, warps = 8x1, stages = {{[45]}}, swizzle = 128, raster = 8, blocks = 1, {{(cluster = 2x1, )?}}method = fp8>, strategy = #tenon.strategy<tiled>
// WHY: Function=scaled | {{.*}}tiled: what follows a product of 8 bits is part of its kernel
// MMA-LABEL: @scaled
// MMA: tenon.fused_linear {{.*}} #tenon.schedule<mma_sync, tile = {{[0-9]+x[0-9]+}}x128, {{.*}}method = fp8>, strategy = #tenon.strategy<tiled>
// LIBRARY-LABEL: @scaled
// LIBRARY-NOT: tenon.cast %arg
// LIBRARY: tenon.fused_linear {{.*}}strategy = #tenon.strategy<library>
// F16-LABEL: @scaled
// F16-DAG: %[[X:.*]] = tenon.cast %arg0 : tensor<1024x8192xf8E4M3FN> -> tensor<1024x8192xf16>
// F16-DAG: %[[W:.*]] = tenon.cast %arg1 : tensor<8192x8192xf8E4M3FN> -> tensor<8192x8192xf16>
// F16: tenon.fused_linear %[[X]], %[[W]] : tensor<1024x8192xf16>, tensor<8192x8192xf16> epilogue(%{{.*}}: tensor<1024x8192xf32>
// WIDENED: Function=scaled | {{.*}}no kernel of all targets multiplies f8E4M3FN of such extents, so it is cast to f16, which holds its numbers
func.func @scaled(%x: tensor<1024x8192xf8E4M3FN>, %w: tensor<8192x8192xf8E4M3FN> {tenon.param}, %s: tensor<1024x1xf32>,
                  %t: tensor<8192xf32>) -> tensor<1024x8192xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<1024x8192xf8E4M3FN>, tensor<8192x8192xf8E4M3FN>
      epilogue(%acc: tensor<1024x8192xf32>, %rows = %s: tensor<1024x1xf32>, %columns = %t: tensor<8192xf32>)
      -> tensor<1024x8192xbf16> {
    %1 = tenon.mul %acc, %rows : tensor<1024x8192xf32>, tensor<1024x1xf32>
    %2 = tenon.mul %1, %columns : tensor<1024x8192xf32>, tensor<8192xf32>
    %3 = tenon.silu %2 : tensor<1024x8192xf32>
    %4 = tenon.cast %3 : tensor<1024x8192xf32> -> tensor<1024x8192xbf16>
    tenon.yield %4 : tensor<1024x8192xbf16>
  }
  return %0 : tensor<1024x8192xbf16>
}

// -----

// TMA copies no rows of 1000 bytes.
// CHECK-LABEL: @odd
// CHECK-COUNT-2: tenon.cast
// CHECK: tenon.linear {{.*}}xf16>) -> tensor<64x64xf32>
// WHY: Function=odd | {{.*}}no kernel of all targets multiplies f8E5M2 of such extents
// LIBRARY-LABEL: @odd
// LIBRARY-COUNT-2: tenon.cast %arg
// F16-LABEL: @odd
func.func @odd(%x: tensor<64x1000xf8E5M2>, %w: tensor<64x1000xf8E5M2>) -> tensor<64x64xf32> {
  %0 = tenon.linear %x, %w : (tensor<64x1000xf8E5M2>, tensor<64x1000xf8E5M2>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

// CHECK-LABEL: @turned
// CHECK-COUNT-2: tenon.cast
// CHECK: tenon.linear {{.*}} layout<mk_kn> {{.*}}xf16>) -> tensor<64x64xf32>
// WHY: Function=turned | {{.*}}no kernel of all targets
// LIBRARY-LABEL: @turned
// LIBRARY-COUNT-2: tenon.cast %arg
// F16-LABEL: @turned
func.func @turned(%x: tensor<64x1024xf8E4M3FN>, %w: tensor<1024x64xf8E4M3FN>) -> tensor<64x64xf32> {
  %0 = tenon.linear %x, %w layout<mk_kn> : (tensor<64x1024xf8E4M3FN>, tensor<1024x64xf8E4M3FN>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
