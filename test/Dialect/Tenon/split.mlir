// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --canonicalize --cse | FileCheck %s --check-prefix=CSE
// RUN: tenon-opt %s --tenon-bufferize --canonicalize | FileCheck %s --check-prefix=BUFFER
// RUN: tenon-opt %s --tenon-hoist-prepare | FileCheck %s --check-prefix=PREPARE

// CHECK-LABEL: @one_part
// BUFFER-LABEL: @one_part
// BUFFER-SAME: %[[X:.*]]: memref<?x20xf32>
// BUFFER: %[[M:.*]] = memref.dim %[[X]], %{{.*}}
// BUFFER-DAG: %[[HALVES:.*]] = memref.alloc(%[[M]]) {{.*}} : memref<?x24xf16>
// BUFFER-DAG: %[[FACTORS:.*]] = memref.alloc(%[[M]]) {{.*}} : memref<?x1xf32>
// BUFFER: tenon.split %[[X]] outs(%[[HALVES]], %[[FACTORS]]) : (memref<?x20xf32>, memref<?x24xf16>, memref<?x1xf32>) -> ()
// BUFFER-NEXT: return %[[HALVES]], %[[FACTORS]]
func.func @one_part(%x: tensor<?x20xf32>) -> (tensor<?x24xf16>, tensor<?x1xf32>) {
  // CHECK: tenon.split %{{.*}} : (tensor<?x20xf32>) -> (tensor<?x24xf16>, tensor<?x1xf32>)
  %h, %f = tenon.split %x : (tensor<?x20xf32>) -> (tensor<?x24xf16>, tensor<?x1xf32>)
  return %h, %f : tensor<?x24xf16>, tensor<?x1xf32>
}

// The other ends of both roundings: K is a multiple, and just above one.
// CHECK-LABEL: @extents
// CHECK: (tensor<3x8xf32>) -> (tensor<3x8xf16>, tensor<3x1xf32>)
// CHECK: (tensor<3x8xf32>) -> (tensor<3x64xf16>, tensor<3x1xf32>)
// CHECK: (tensor<3x33xf32>) -> (tensor<3x128xf16>, tensor<3x1xf32>)
// BUFFER-LABEL: @extents
// BUFFER: tenon.split {{.*}} : (memref<3x8xf32>, memref<3x8xf16>, memref<3x1xf32>) -> ()
// BUFFER: tenon.split {{.*}} : (memref<3x8xf32>, memref<3x64xf16>, memref<3x1xf32>) -> ()
// BUFFER: tenon.split {{.*}} : (memref<3x33xf32>, memref<3x128xf16>, memref<3x1xf32>) -> ()
// BUFFER-NOT: memref.copy
// BUFFER: return
func.func @extents(%x: tensor<3x8xf32>, %z: tensor<3x33xf32>) -> (tensor<3x8xf16>, tensor<3x64xf16>, tensor<3x128xf16>) {
  %0:2 = tenon.split %x : (tensor<3x8xf32>) -> (tensor<3x8xf16>, tensor<3x1xf32>)
  %1:2 = tenon.split %x : (tensor<3x8xf32>) -> (tensor<3x64xf16>, tensor<3x1xf32>)
  %2:2 = tenon.split %z : (tensor<3x33xf32>) -> (tensor<3x128xf16>, tensor<3x1xf32>)
  return %0#0, %1#0, %2#0 : tensor<3x8xf16>, tensor<3x64xf16>, tensor<3x128xf16>
}

// CHECK-LABEL: @on_memrefs
// CSE-LABEL: @on_memrefs
func.func @on_memrefs(%x: memref<?x20xf32>, %h: memref<?x64xf16>, %f: memref<?x1xf32>) {
  // CHECK: tenon.split %{{.*}} outs(%{{.*}}, %{{.*}}) : (memref<?x20xf32>, memref<?x64xf16>, memref<?x1xf32>) -> ()
  // CSE: tenon.split
  tenon.split %x outs(%h, %f) : (memref<?x20xf32>, memref<?x64xf16>, memref<?x1xf32>) -> ()
  return
}

// On tensors it has no effects: one of two is enough, and none of what nothing uses.
// CSE-LABEL: @twice
// CSE: %[[S:.*]]:2 = tenon.split
// CSE-NOT: tenon.split
// CSE: return %[[S]]#0, %[[S]]#1
func.func @twice(%x: tensor<4x64xf32>, %z: tensor<4x32xf32>) -> (tensor<4x128xf16>, tensor<4x1xf32>) {
  %0:2 = tenon.split %x : (tensor<4x64xf32>) -> (tensor<4x128xf16>, tensor<4x1xf32>)
  %1:2 = tenon.split %x : (tensor<4x64xf32>) -> (tensor<4x128xf16>, tensor<4x1xf32>)
  %2:2 = tenon.split %z : (tensor<4x32xf32>) -> (tensor<4x64xf16>, tensor<4x1xf32>)
  return %0#0, %1#1 : tensor<4x128xf16>, tensor<4x1xf32>
}

// What a layer needs of a weight's split is prepared; that of x is made with each call. The weight stays for the
// layer that takes it as it is.
// BUFFER-LABEL: @layer
// BUFFER: %[[Y:.*]] = memref.alloc
// BUFFER: tenon.tiled_linear {{.*}} factors(%{{.*}}, %{{.*}} : memref<?x1xf32>, memref<16x1xf32>) {{.*}} outs(%[[Y:.*]]: memref<?x16xf32>) {{.*}} method = fp16x3>
// BUFFER-NOT: memref.alloc
// BUFFER-NOT: memref.copy
// BUFFER: tenon.tiled_linear {{.*}} outs(%[[Y]]: memref<?x16xf32>) {{.*}} method = fma>
// PREPARE-LABEL: func.func @layer_prepare(
// PREPARE-SAME: %[[W:.*]]: tensor<16x32xf32>
// PREPARE: %[[S:.*]]:2 = tenon.split %[[W]] : (tensor<16x32xf32>) -> (tensor<16x64xf16>, tensor<16x1xf32>)
// PREPARE: return %[[S]]#0, %[[S]]#1
// PREPARE-LABEL: func.func @layer_run(
// PREPARE-SAME: %[[X:.*]]: tensor<?x32xf32>
// PREPARE: tenon.split %[[X]]
// PREPARE-NOT: tenon.split
func.func @layer(%x: tensor<?x32xf32>, %w: tensor<16x32xf32> {tenon.param}, %o: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %xh, %fx = tenon.split %x : (tensor<?x32xf32>) -> (tensor<?x64xf16>, tensor<?x1xf32>)
  %wh, %fw = tenon.split %w : (tensor<16x32xf32>) -> (tensor<16x64xf16>, tensor<16x1xf32>)
  %y0 = tenon.tiled_linear %xh, %wh : tensor<?x64xf16>, tensor<16x64xf16>
      factors(%fx, %fw : tensor<?x1xf32>, tensor<16x1xf32>)
      epilogue(%acc: tensor<?x16xf32>) outs(%o: tensor<?x16xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3>
      -> tensor<?x16xf32> {
    tenon.yield %acc : tensor<?x16xf32>
  }
  %y = tenon.tiled_linear %x, %w : tensor<?x32xf32>, tensor<16x32xf32>
      factors(%fx, %fw : tensor<?x1xf32>, tensor<16x1xf32>)
      epilogue(%acc: tensor<?x16xf32>) outs(%y0: tensor<?x16xf32>)
      schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fma>
      -> tensor<?x16xf32> {
    tenon.yield %acc : tensor<?x16xf32>
  }
  return %y : tensor<?x16xf32>
}
