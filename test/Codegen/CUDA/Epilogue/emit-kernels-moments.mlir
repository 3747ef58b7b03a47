// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels | FileCheck %s --implicit-check-not=tenon.epilogue --implicit-check-not=tenon.batch_moments

// Moments of the batch: a second kernel combines the states. It has no rows to walk, and only the first group's blocks: as
// many as cover the columns.
// CHECK-LABEL: func.func @moments
// CHECK-DAG: %[[COLUMN_BLOCKS:.*]] = arith.constant 16 : index
// CHECK: tenon.launch @kernels::@moments_reduce_v8 {{.*}} args(%[[Z:.*]] : memref<?x4096xbf16>, %[[STATES:.*]] : memref<16x2x4096xf32>, %[[M:.*]] : i64, %[[G:.*]] : i64)
// CHECK: tenon.launch @kernels::@moments_map_v8 blocks(%[[COLUMN_BLOCKS]]) {{.*}} args(%[[Z]] : {{.*}}, %{{.*}} : memref<4096xf32>, %{{.*}} : memref<4096xf32>, %[[STATES]] : {{.*}}, %[[M]] : i64, %[[G]] : i64)
// CHECK-LABEL: llvm.func @moments_map_v8
// CHECK-NOT: bf16
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<1>
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<1>
// CHECK-NOT: bf16
// CHECK-NOT: scf.for
// CHECK: llvm.return
func.func @moments(%z: memref<?x4096xbf16>, %m: memref<4096xf32>, %q: memref<4096xf32>) {
  tenon.epilogue ins(%a = %z: memref<?x4096xbf16>) outs(%m: memref<4096xf32>, %q: memref<4096xf32>) {
    %0:2 = tenon.batch_moments %a : (tensor<?x4096xbf16>) -> (tensor<4096xf32>, tensor<4096xf32>)
    tenon.yield %0#0, %0#1 : tensor<4096xf32>, tensor<4096xf32>
  }
  return
}
