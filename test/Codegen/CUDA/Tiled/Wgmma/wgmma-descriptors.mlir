// Descriptors of wgmma's operands: constants of 64 bits are ORed into them, and never added. ptxas 12.9 and 13.0 leave
// the high word of some such sums undefined, which is the swizzle and the stride. LLVM adds where a tile has one stage.
// RUN: tenon-compile %s --target=sm_90a --strategy=tiled --emit=ptx -o - \
// RUN:   --schedule=wgmma,tile=128x64x64,warps=8x1,stages=8,swizzle=128,raster=8,blocks=1 | FileCheck %s

// CHECK-LABEL: .entry layer_tiled(
// CHECK-NOT: add.s64 {{.*}}, 46116
// CHECK: or.b64 {{.*}}, 4611686293305360384;
// CHECK-NOT: add.s64 {{.*}}, 46116
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16
// CHECK-NOT: add.s64 {{.*}}, 46116
// CHECK: wgmma.commit_group
func.func @layer(%x: tensor<2x64xbf16>, %w: tensor<33x64xbf16> {tenon.param}) -> tensor<2x33xbf16> {
  %y = tenon.linear %x, %w : (tensor<2x64xbf16>, tensor<33x64xbf16>) -> tensor<2x33xbf16>
  return %y : tensor<2x33xbf16>
}
