// A schedule's defer that a kernel has no use for is told.
// RUN: tenon-opt %s --tenon-emit-kernels --remarks-filter-missed=tenon-kernels -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=remark:

// CHECK: deferred-remarks.mlir:[[# @LINE + 2]]:{{.*}} remark: {{.*}}the products of 1 K tiles hide too little{{.*}}each tile is finished before the next begins, although the schedule has defer
func.func @short(%x: memref<512x64xbf16>, %w: memref<256x64xbf16>, %y: memref<512x256xbf16>) {
  tenon.tiled_linear %x, %w : memref<512x64xbf16>, memref<256x64xbf16>
      epilogue(%acc: tensor<512x256xbf16>) outs(%y: memref<512x256xbf16>)
      schedule<wgmma, tile = 128x256x64, warps = 1x8, stages = 3, swizzle = 128, raster = 8, blocks = 1, defer = true> {
    %0 = tenon.relu %acc : tensor<512x256xbf16>
    tenon.yield %0 : tensor<512x256xbf16>
  }
  return
}

func.func @long(%x: memref<512x4096xbf16>, %w: memref<256x4096xbf16>, %y: memref<512x256xbf16>) {
  tenon.tiled_linear %x, %w : memref<512x4096xbf16>, memref<256x4096xbf16>
      epilogue(%acc: tensor<512x256xbf16>) outs(%y: memref<512x256xbf16>)
      schedule<wgmma, tile = 128x256x64, warps = 1x8, stages = 3, swizzle = 128, raster = 8, blocks = 1, defer = true> {
    %0 = tenon.relu %acc : tensor<512x256xbf16>
    tenon.yield %0 : tensor<512x256xbf16>
  }
  return
}

// CHECK: deferred-remarks.mlir:[[# @LINE + 2]]:{{.*}} remark: {{.*}}TMA does not move its [M, N] tensors: rows are no multiple of 16 bytes{{.*}}each tile is finished before the next begins
func.func @odd(%x: memref<512x4096xbf16>, %w: memref<255x4096xbf16>, %y: memref<512x255xbf16>) {
  tenon.tiled_linear %x, %w : memref<512x4096xbf16>, memref<255x4096xbf16>
      epilogue(%acc: tensor<512x255xbf16>) outs(%y: memref<512x255xbf16>)
      schedule<wgmma, tile = 128x256x64, warps = 1x8, stages = 3, swizzle = 128, raster = 8, blocks = 1, defer = true> {
    %0 = tenon.relu %acc : tensor<512x255xbf16>
    tenon.yield %0 : tensor<512x255xbf16>
  }
  return
}
