// A layer keeps its strategy and schedule on the way to --tenon-to-tiled, and
// what is not tiled goes to the library.
// RUN: tenon-opt %s --canonicalize | FileCheck %s --check-prefix=KEPT
// RUN: tenon-opt %s --tenon-simplify --tenon-fuse-epilogue --tenon-unfuse --canonicalize | FileCheck %s --check-prefix=KEPT
// RUN: tenon-opt %s --tenon-to-tiled --tenon-to-blaslt --tenon-bufferize | FileCheck %s --implicit-check-not=memref.copy

// KEPT-LABEL: @empty_epilogue
// KEPT: tenon.linear {{.*}} {schedule = #tenon.schedule<{{.*}}>, strategy = #tenon.strategy<tiled>}
// CHECK-LABEL: @empty_epilogue
// CHECK-NOT: blaslt
// CHECK: tenon.tiled_linear
func.func @empty_epilogue(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>) -> tensor<?x32xf16>
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>, strategy = #tenon.strategy<tiled>} {
    tenon.yield %acc : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}

// A tiled layer, one of the library, and an op that no layer takes.
// KEPT-LABEL: @mixed
// KEPT: linear {{.*}}{schedule = #tenon.schedule<{{.*}}>, strategy = #tenon.strategy<tiled>}
// KEPT: linear {{.*}}{strategy = #tenon.strategy<library>}
// CHECK-LABEL: @mixed
// CHECK: %[[WS:.*]] = memref.alloc() {{.*}} : memref<1574400xi8>
// CHECK: tenon.tiled_linear {{.*}} outs(%[[H:.*]]: memref<?x32xf16>) workspace(%[[WS]]: memref<1574400xi8>)
// CHECK: blaslt.run %{{.*}} ins(%[[H]],
// CHECK: tenon.epilogue
func.func @mixed(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %v: tensor<32x32xf16>) -> tensor<?x32xf16> {
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>) -> tensor<?x32xf16>
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.mish %acc : tensor<?x32xf16>
    tenon.yield %1 : tensor<?x32xf16>
  }
  %2 = tenon.linear %0, %v {strategy = #tenon.strategy<library>} : (tensor<?x32xf16>, tensor<32x32xf16>) -> tensor<?x32xf16>
  %3 = tenon.mish %2 : tensor<?x32xf16>
  return %3 : tensor<?x32xf16>
}
