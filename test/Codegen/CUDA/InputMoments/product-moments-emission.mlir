// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s --implicit-check-not=tenon.product_moments

// Ten tiles of S2, of 32x32, each with a block in each of 26 groups at most; 64 rows of x at a time in shared memory, in
// the tile's two times 32 columns, where sums of four warps lie at the end. A state is the tiles and S1.
// CHECK: module attributes {gpu.container_module, tenon.kernels = ["wide_gram", "wide_add_states", "wide_column_moments"]}
// CHECK-LABEL: func.func @wide
// CHECK-SAME: %[[X:.*]]: memref<?x128xbf16>, %[[W:.*]]: memref<100x128xbf16>, %[[A:.*]]: memref<100xf32>, %[[B:.*]]: memref<100xf32>, %[[C:.*]]: memref<100xf32>
// CHECK: %[[M:.*]] = arith.index_cast
// CHECK: %[[SOME:.*]] = arith.minsi %{{.*}}, %c26_i64 : i64
// An x without rows has a group all the same: what is written is NaN.
// CHECK: %[[GROUPS:.*]] = arith.maxsi %[[SOME]], %c1_i64 : i64
// CHECK: %[[STATES:.*]] = memref.alloc() : memref<26x10368xf64>
// CHECK: %[[STATE:.*]] = memref.alloc() : memref<10368xf64>
// CHECK: tenon.launch @kernels::@wide_gram blocks(%{{.*}}) threads(%c256) args(%[[X]] : memref<?x128xbf16>, %[[STATES]] : memref<26x10368xf64>, %[[M]] : i64, %[[GROUPS]] : i64)
// CHECK: tenon.launch @kernels::@wide_add_states blocks(%c324) threads(%c256) args(%[[STATES]] : memref<26x10368xf64>, %[[STATE]] : memref<10368xf64>, %[[M]] : i64, %[[GROUPS]] : i64)
// CHECK: tenon.launch @kernels::@wide_column_moments blocks(%c4) threads(%c128) args(%[[X]] : memref<?x128xbf16>, %[[W]] : memref<100x128xbf16>, %[[STATE]] : memref<10368xf64>, %[[A]] : memref<100xf32>, %[[B]] : memref<100xf32>, %[[C]] : memref<100xf32>, %[[M]] : i64, %[[GROUPS]] : i64)
// CHECK: llvm.mlir.global internal @wide_gram_rows() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<4608 x f64>
// CHECK-LABEL: llvm.func @wide_gram
// CHECK-SAME: nvvm.reqntid = array<i32: 256>
// CHECK: scf.if
// CHECK-COUNT-16: ld.global.b16
// CHECK: scf.for
// CHECK: nvvm.barrier0
// CHECK-NOT: ld.global
// CHECK: nvvm.barrier0
// The next rows are loaded before these are multiplied: by each warp twice four of them, with 16 products of 8x8.
// CHECK-COUNT-16: ld.global.b16
// On targets that have it, one instruction is four of them.
// CHECK: scf.if
// CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.f64"
// CHECK: } else {
// CHECK-COUNT-32: nvvm.mma.sync {{.*}}m = 8, n = 8, k = 4
// CHECK-NOT: nvvm.mma.sync
// CHECK-LABEL: llvm.func @wide_add_states
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load {{.*}} !llvm.ptr<1> -> f64
// CHECK-NOT: !llvm.ptr<1> -> f64
// CHECK-LABEL: llvm.func @wide_column_moments
// CHECK: scf.for
// CHECK: nvvm.mma.sync
// CHECK-COUNT-3: llvm.store {{.*}} : f32, !llvm.ptr<1>
// CHECK-NOT: : f32, !llvm.ptr<1>
func.func @wide(%x: memref<?x128xbf16>, %w: memref<100x128xbf16>, %a: memref<100xf32>, %b: memref<100xf32>, %c: memref<100xf32>) {
  tenon.product_moments %x, %w outs(%a, %b, %c) : (memref<?x128xbf16>, memref<100x128xbf16>, memref<100xf32>, memref<100xf32>, memref<100xf32>) -> ()
  return
}

// -----

// 36 tiles leave seven groups. Elements of 32 bits; 16 rows of w at a time.
// CHECK-LABEL: func.func @wider
// CHECK: memref.alloc() : memref<7x37120xf64>
// CHECK: tenon.launch @kernels::@wider_gram blocks(%{{.*}}) threads(%c256)
// CHECK-LABEL: llvm.func @wider_gram
// CHECK-COUNT-32: ld.global.b32
// CHECK-NOT: ld.global
// CHECK-LABEL: llvm.func @wider_add_states
// CHECK: llvm.mlir.global internal @wider_column_moments_rows() {{.*}} !llvm.array<4160 x f64>
func.func @wider(%x: memref<4096x256xf32>, %w: memref<8x256xf32>, %a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>) {
  tenon.product_moments %x, %w outs(%a, %b, %c) : (memref<4096x256xf32>, memref<8x256xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>) -> ()
  return
}
