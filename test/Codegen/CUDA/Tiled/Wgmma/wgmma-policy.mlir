// How long L2 is to keep w: what a cluster's tiles read once leaves it first.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s

// A cluster's two tiles have all rows of x. Blocks share what they copy of w; x is read by all of them.
func.func @once(%x: memref<128x4096xbf16>, %w: memref<4096x4096xbf16>, %y: memref<128x4096xbf16>) {
  tenon.tiled_linear %x, %w : memref<128x4096xbf16>, memref<4096x4096xbf16>
      epilogue(%acc: tensor<128x4096xbf16>) outs(%y: memref<128x4096xbf16>)
      schedule<wgmma, tile = 64x128x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, cluster = 2x1> {
    tenon.yield %acc : tensor<128x4096xbf16>
  }
  return
}
// CHECK-LABEL: llvm.func @once_tiled(
// CHECK: %[[POLICY:.*]] = llvm.inline_asm "createpolicy.fractional.L2::evict_first.b64 $0, 1.0;", "=l"
// CHECK-NOT: createpolicy
// CHECK: cp.async.bulk.tensor.shared.cluster.global {{.*}}, %arg0, {{.*}} box[
// CHECK-NOT: l2_cache_hint
// CHECK: cp.async.bulk.tensor.shared.cluster.global {{.*}}, %arg1, {{.*}} box[
// CHECK-SAME: multicast_mask = {{.*}} l2_cache_hint = %[[POLICY]]
// CHECK-NOT: l2_cache_hint

// -----

// Where M is not known it is compared.
func.func @dynamic(%x: memref<?x4096xbf16>, %w: memref<4096x4096xbf16>, %y: memref<?x4096xbf16>) {
  tenon.tiled_linear %x, %w : memref<?x4096xbf16>, memref<4096x4096xbf16>
      epilogue(%acc: tensor<?x4096xbf16>) outs(%y: memref<?x4096xbf16>)
      schedule<wgmma, tile = 64x128x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x4096xbf16>
  }
  return
}
// CHECK-LABEL: llvm.func @dynamic_tiled(
// CHECK: %[[FIRST:.*]] = llvm.inline_asm "createpolicy.fractional.L2::evict_first.b64 $0, 1.0;", "=l"
// CHECK: %[[NORMAL:.*]] = llvm.inline_asm "createpolicy.fractional.L2::evict_normal.b64 $0, 1.0;", "=l"
// CHECK: %[[ISONCE:.*]] = arith.cmpi slt, %{{.*}}, %c65_i32
// CHECK: %[[POLICY:.*]] = arith.select %[[ISONCE]], %[[FIRST]], %[[NORMAL]]
// CHECK: cp.async.bulk.tensor.shared.cluster.global {{.*}} l2_cache_hint = %[[POLICY]]

// -----

// More rows than a cluster has.
func.func @rows(%x: memref<129x4096xbf16>, %w: memref<4096x4096xbf16>, %y: memref<129x4096xbf16>) {
  tenon.tiled_linear %x, %w : memref<129x4096xbf16>, memref<4096x4096xbf16>
      epilogue(%acc: tensor<129x4096xbf16>) outs(%y: memref<129x4096xbf16>)
      schedule<wgmma, tile = 64x128x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, cluster = 2x1> {
    tenon.yield %acc : tensor<129x4096xbf16>
  }
  return
}
// CHECK-LABEL: llvm.func @rows_tiled(
// CHECK-NOT: {{createpolicy|l2_cache_hint}}
// CHECK: llvm.return

// -----

// A stage of all blocks is more of w than L2 holds until the next.
func.func @wide(%x: memref<128x4096xbf16>, %w: memref<24584x4096xbf16>, %y: memref<128x24584xbf16>) {
  tenon.tiled_linear %x, %w : memref<128x4096xbf16>, memref<24584x4096xbf16>
      epilogue(%acc: tensor<128x24584xbf16>) outs(%y: memref<128x24584xbf16>)
      schedule<wgmma, tile = 64x128x64, warps = 4x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, cluster = 2x1> {
    tenon.yield %acc : tensor<128x24584xbf16>
  }
  return
}
// CHECK-LABEL: llvm.func @wide_tiled(
// CHECK-NOT: {{createpolicy|l2_cache_hint}}
// CHECK: llvm.return
