// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels | FileCheck %s --implicit-check-not=tenon.epilogue --implicit-check-not=tenon.batch_sum

// Sums of parts that a product gave: each sum has a group of blocks, of 8 columns and as many threads as fill a GPU, which
// load all parts at once and store what comes of their sum alone.
// CHECK-LABEL: func.func @sums
// CHECK-DAG: %[[BLOCKS:.*]] = arith.constant 256 : index
// CHECK-DAG: %[[THREADS:.*]] = arith.constant 512 : index
// CHECK: tenon.launch @kernels::@sums_map_v1 blocks(%[[BLOCKS]]) threads(%[[THREADS]])
func.func @sums(%z: memref<300x1024xbf16>, %p: memref<5x1024xf32>, %q: memref<5x1024xf32>, %s: memref<1024xbf16>, %t: memref<1024xf32>) {
  tenon.epilogue ins(%a = %z: memref<300x1024xbf16>, %b = %p: memref<5x1024xf32>, %c = %q: memref<5x1024xf32>) outs(%s: memref<1024xbf16>, %t: memref<1024xf32>) {
    %0 = tenon.batch_sum %a moments(%b) {moment_rows = 64 : i64} : (tensor<300x1024xbf16>, tensor<5x1024xf32>) -> tensor<1024xbf16>
    %1 = tenon.batch_sum %a moments(%c) {moment_rows = 64 : i64} : (tensor<300x1024xbf16>, tensor<5x1024xf32>) -> tensor<1024xf32>
    tenon.yield %0, %1 : tensor<1024xbf16>, tensor<1024xf32>
  }
  return
}

// Few columns: a multiprocessor has one block, of more threads.
// CHECK-LABEL: func.func @narrow
// CHECK-DAG: %[[BLOCKS:.*]] = arith.constant 4 : index
// CHECK-DAG: %[[THREADS:.*]] = arith.constant 1024 : index
// CHECK: tenon.launch @kernels::@narrow_map_v1 blocks(%[[BLOCKS]]) threads(%[[THREADS]])
// CHECK-LABEL: llvm.func @sums_map_v1
// CHECK: %[[GROUP:.*]] = arith.extsi %{{.*}} : i32 to i64
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[GROUP]], %c0_i64
// CHECK: scf.if %[[FIRST]] {
// CHECK: llvm.store %{{.*}}, %{{.*}} : bf16, !llvm.ptr<1>
// CHECK: %[[SECOND:.*]] = arith.cmpi eq, %[[GROUP]], %c1_i64
// CHECK: scf.if %[[SECOND]] {
// CHECK-NOT: bf16
// CHECK: llvm.store %{{.*}}, %{{.*}} : f32, !llvm.ptr<1>
func.func @narrow(%z: memref<300x32xf32>, %p: memref<5x32xf32>, %s: memref<32xf32>) {
  tenon.epilogue ins(%a = %z: memref<300x32xf32>, %b = %p: memref<5x32xf32>) outs(%s: memref<32xf32>) {
    %0 = tenon.batch_sum %a moments(%b) {moment_rows = 64 : i64} : (tensor<300x32xf32>, tensor<5x32xf32>) -> tensor<32xf32>
    tenon.yield %0 : tensor<32xf32>
  }
  return
}
