// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s --implicit-check-not=tenon.split

// Eight warps to a row, eight vectors to a thread: all are loaded, then come the maximum, the parts and the score.
// CHECK: module attributes {gpu.container_module, tenon.kernels = ["wide_split_v4", "wide_split_v1"]}
// CHECK-LABEL: func.func @wide
// CHECK-SAME: %[[X:.*]]: memref<?x8192xf32>, %[[H:.*]]: memref<?x16384xf16>, %[[F:.*]]: memref<?x1xf32>
// CHECK: %[[DIM:.*]] = memref.dim %[[X]]
// CHECK: %[[M:.*]] = arith.index_cast %[[DIM]]
// The factors' alignment does not matter.
// CHECK: memref.extract_aligned_pointer_as_index %[[X]]
// CHECK: memref.extract_aligned_pointer_as_index %[[H]]
// CHECK-NOT: memref.extract_aligned_pointer_as_index
// CHECK: scf.if
// No block where there is no row.
// CHECK: %[[GROUPS:.*]] = arith.minsi %[[M]], %c2147483647_i64 : i64
// CHECK: %[[BLOCKS:.*]] = arith.index_cast %[[GROUPS]] : i64 to index
// CHECK: tenon.launch @kernels::@wide_split_v4 blocks(%[[BLOCKS]]) threads(%c256) args(%[[X]] : memref<?x8192xf32>, %[[H]] : memref<?x16384xf16>, %[[F]] : memref<?x1xf32>, %[[M]] : i64, %[[GROUPS]] : i64)
// CHECK: else
// CHECK: tenon.launch @kernels::@wide_split_v1 {{.*}} threads(%c512)
// CHECK: llvm.mlir.global external @tenon_rows_outside(0 : i64) {addr_space = 1 : i32, alignment = 8 : i64} : i64
// CHECK: llvm.mlir.global internal @wide_split_v4_shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<16 x i32>
// CHECK-LABEL: llvm.func @wide_split_v4
// CHECK-SAME: nvvm.reqntid = array<i32: 256>
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %{{.*}} : i64
// CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT: !llvm.ptr<1>
// CHECK: vector.reduction <maxsi>
// CHECK: nvvm.redux.sync max
// CHECK: scf.if
// CHECK: llvm.store %{{.*}} : i32, !llvm.ptr<3>
// CHECK: nvvm.barrier
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> i32
// CHECK: nvvm.redux.sync max
// CHECK-NOT: llvm.load
// CHECK-NOT: scf.if
// CHECK-COUNT-16: llvm.store %{{.*}} {alignment = 8 : i64} : vector<4xf16>, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: vector.reduction <add>
// CHECK: nvvm.redux.sync add
// CHECK: nvvm.barrier
// CHECK: nvvm.redux.sync add
// One thread stores the factor, and counts a row that is outside.
// CHECK: scf.if
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : f32, !llvm.ptr<1>
// CHECK: scf.if
// CHECK: llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, i64
// CHECK-NOT: llvm.atomicrmw
// CHECK-LABEL: llvm.func @wide_split_v1
// CHECK-COUNT-16: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK-COUNT-32: llvm.store %{{.*}} {alignment = 2 : i64} : f16, !llvm.ptr<1>
// CHECK-NOT: llvm.store {{.*}} f16
func.func @wide(%x: memref<?x8192xf32>, %halves: memref<?x16384xf16>, %factors: memref<?x1xf32>) {
  tenon.split %x outs(%halves, %factors) : (memref<?x8192xf32>, memref<?x16384xf16>, memref<?x1xf32>) -> ()
  return
}

// -----

// A warp to a row, eight rows to a block: no barrier, no shared memory. Of the 32 columns of the last thread's vectors
// 28 are padding: it loads the last element again, and takes zeros.
// CHECK: arith.divui %{{.*}}, %c8_i64
// CHECK: tenon.launch @kernels::@narrow_split_v4 {{.*}} threads(%c256)
// CHECK-NOT: nvvm.barrier
// CHECK-NOT: !llvm.ptr<3>
// CHECK-LABEL: llvm.func @narrow_split_v4
// CHECK: arith.minui %{{.*}}, %c96_i32
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: arith.select %{{.*}}, %{{.*}}, %cst{{.*}} : vector<4xf32>
// CHECK-COUNT-2: llvm.store %{{.*}} : vector<4xf16>, !llvm.ptr<1>
// CHECK-NOT: vector<4xf16>, !llvm.ptr<1>
func.func @narrow(%x: memref<?x100xf32>, %halves: memref<?x256xf16>, %factors: memref<?x1xf32>) {
  tenon.split %x outs(%halves, %factors) : (memref<?x100xf32>, memref<?x256xf16>, memref<?x1xf32>) -> ()
  return
}

// -----

// One part: one store a vector. Columns beyond the padding are not stored.
// CHECK-LABEL: llvm.func @one_part_split_v2
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
// CHECK-NOT: llvm.load
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : vector<2xf16>, !llvm.ptr<1>
// CHECK: %[[STORES:.*]] = arith.cmpi slt, %{{.*}}, %c72_i32
// CHECK: scf.if %[[STORES]]
// CHECK-NEXT: llvm.store %{{.*}} {alignment = 4 : i64} : vector<2xf16>, !llvm.ptr<1>
// CHECK-NOT: vector<2xf16>, !llvm.ptr<1>
func.func @one_part(%x: memref<?x66xf32>, %halves: memref<?x72xf16>, %factors: memref<?x1xf32>) {
  tenon.split %x outs(%halves, %factors) : (memref<?x66xf32>, memref<?x72xf16>, memref<?x1xf32>) -> ()
  return
}

// -----

// Of a longer row two steps of 16384 elements are read twice, the second time from the end; the rest is kept.
// CHECK-LABEL: llvm.func @long_split_v4
// CHECK: scf.for
// CHECK: scf.for %{{.*}} = %c0_i32 to %c2_i32 step %c1_i32
// CHECK-COUNT-8: llvm.load %{{.*}} -> vector<4xf32>
// CHECK-NOT: llvm.load
// CHECK: scf.yield %{{.*}} : vector<4xi32>
// CHECK-COUNT-2: llvm.load %{{.*}} -> vector<4xf32>
// CHECK: nvvm.redux.sync max
// CHECK-COUNT-4: llvm.store %{{.*}} : vector<4xf16>
// CHECK: scf.for %[[STEP:.*]] = %c0_i32 to %c2_i32 step %c1_i32
// CHECK: arith.subi %c1_i32, %[[STEP]]
// CHECK-COUNT-8: llvm.load %{{.*}} -> vector<4xf32>
// CHECK-COUNT-16: llvm.store %{{.*}} : vector<4xf16>
// CHECK: nvvm.redux.sync add
func.func @long(%x: memref<?x36864xf32>, %halves: memref<?x73728xf16>, %factors: memref<?x1xf32>) {
  tenon.split %x outs(%halves, %factors) : (memref<?x36864xf32>, memref<?x73728xf16>, memref<?x1xf32>) -> ()
  return
}

// -----

// Odd K leaves one kernel and no choice. All kernels count together.
// CHECK: tenon.kernels = ["twice_split_v1", "twice_split_v1_1"]
// CHECK-NOT: scf.if
// CHECK: tenon.launch @kernels::@twice_split_v1 blocks
// CHECK: tenon.launch @kernels::@twice_split_v1_1 blocks
// CHECK: llvm.mlir.global external @tenon_rows_outside
// CHECK-NOT: llvm.mlir.global external
func.func @twice(%x: memref<3x31xf32>, %halves: memref<3x64xf16>, %short: memref<3x32xf16>, %factors: memref<3x1xf32>) {
  tenon.split %x outs(%halves, %factors) : (memref<3x31xf32>, memref<3x64xf16>, memref<3x1xf32>) -> ()
  tenon.split %x outs(%short, %factors) : (memref<3x31xf32>, memref<3x32xf16>, memref<3x1xf32>) -> ()
  return
}
