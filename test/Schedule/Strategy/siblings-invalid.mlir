// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --split-input-file --verify-diagnostics
// RUN: not tenon-opt %s --tenon-select-strategy="targets=sm_90a siblings=sometimes" --split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=VALUE
// RUN: not tenon-opt %s --tenon-select-strategy="targets=sm_90a siblings=always strategy=library" --split-input-file \
// RUN:   2>&1 | FileCheck %s --check-prefix=LIBRARY
// VALUE: siblings=sometimes is not known; expected auto, always or never
// LIBRARY: siblings=always is for tiled layers, but strategy=library leaves none

!x = tensor<8x64xf16>
!w = tensor<64x64xf16>
func.func @alone(%x: !x, %w: !w) -> !x {
  // expected-error @below {{siblings = 2 is for 2 layers that read one x, need no result of each other and can be tiled, all with this schedule}}
  %0 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 8x64x64, warps = 1x4, stages = 4, swizzle = 128, raster = 8, blocks = 1, siblings = 2>} : (!x, !w) -> !x
  return %0 : !x
}

// -----

!x = tensor<8x64xf16>
!w = tensor<64x64xf16>
#s = #tenon.schedule<wgmma, tile = 8x64x64, warps = 1x4, stages = 4, swizzle = 128, raster = 8, blocks = 1, stream_k = true, siblings = 2>
func.func @stream_k(%x: !x, %w: !w, %v: !w) -> (!x, !x) {
  // expected-error @below {{with siblings each block has one tile of one layer; leave out stream_k}}
  %0 = tenon.linear %x, %w {schedule = #s} : (!x, !w) -> !x
  %1 = tenon.linear %x, %v {schedule = #s} : (!x, !w) -> !x
  return %0, %1 : !x, !x
}

// -----

!x = tensor<8x64xf16>
!w = tensor<64x64xf16>
#s = #tenon.schedule<wgmma, tile = 8x64x64, warps = 1x4, stages = 4, swizzle = 128, raster = 8, blocks = 1, siblings = 9>
func.func @many(%x: !x, %w: !w) -> (!x, !x, !x, !x, !x, !x, !x, !x, !x) {
  // expected-error @below {{a launch has 8 layers at most, not 9}}
  %0 = tenon.linear %x, %w {schedule = #s} : (!x, !w) -> !x
  %1 = tenon.linear %x, %w {schedule = #s} : (!x, !w) -> !x
  %2 = tenon.linear %x, %w {schedule = #s} : (!x, !w) -> !x
  %3 = tenon.linear %x, %w {schedule = #s} : (!x, !w) -> !x
  %4 = tenon.linear %x, %w {schedule = #s} : (!x, !w) -> !x
  %5 = tenon.linear %x, %w {schedule = #s} : (!x, !w) -> !x
  %6 = tenon.linear %x, %w {schedule = #s} : (!x, !w) -> !x
  %7 = tenon.linear %x, %w {schedule = #s} : (!x, !w) -> !x
  %8 = tenon.linear %x, %w {schedule = #s} : (!x, !w) -> !x
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : !x, !x, !x, !x, !x, !x, !x, !x, !x
}

// -----

!x = tensor<8x64xf32>
!w = tensor<64x64xf32>
#s = #tenon.schedule<wgmma, tile = 64x32x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, siblings = 2, method = fp16x3>
func.func @split(%x: !x, %w: !w, %v: !w) -> (!x, !x) {
  // expected-error @below {{with siblings there is no method fp16x3, whose products are guarded one by one; leave one of the two out}}
  %0 = tenon.linear %x, %w {schedule = #s} : (!x, !w) -> !x
  %1 = tenon.linear %x, %v {schedule = #s} : (!x, !w) -> !x
  return %0, %1 : !x, !x
}
