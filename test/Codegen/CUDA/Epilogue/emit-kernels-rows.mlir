// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s --implicit-check-not=tenon.epilogue

// One kernel, whose warps have a row each, loaded once; the lanes meet by shuffles.
// CHECK: module attributes {gpu.container_module, tenon.kernels = ["warp_rows_v4", "warp_rows_v1"]}
// CHECK-LABEL: llvm.func @warp_rows_v4
// CHECK-SAME: nvvm.reqntid = array<i32: 256>
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: llvm.load
// CHECK-COUNT-5: nvvm.shfl.sync  bfly
// CHECK-COUNT-5: nvvm.shfl.sync  bfly
// CHECK-NOT: nvvm.shfl.sync
// CHECK-COUNT-2: llvm.store {{.*}} : vector<4xf32>
// CHECK-LABEL: llvm.func @warp_rows_v1
func.func @warp(%y: memref<?x256xf32>) {
  tenon.epilogue ins(%acc = %y: memref<?x256xf32>) outs(%y: memref<?x256xf32>) {
    %0 = tenon.reduce_row max %acc : tensor<?x256xf32>
    %1 = tenon.sub %acc, %0 : tensor<?x256xf32>, tensor<?x1xf32>
    %2 = tenon.reduce_row sum %1 : tensor<?x256xf32>
    %3 = tenon.mul %1, %2 : tensor<?x256xf32>, tensor<?x1xf32>
    tenon.yield %3 : tensor<?x256xf32>
  }
  return
}

// -----

// A block has a long row, and warps meet in shared memory.
// CHECK-LABEL: llvm.func @block_rows_v4
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: scf.for
// CHECK-COUNT-5: nvvm.shfl.sync  bfly
// CHECK: nvvm.barrier
// CHECK-COUNT-8: llvm.load {{.*}} : !llvm.ptr<3> -> f32
func.func @block(%y: memref<?x4096xf32>, %s: memref<?x1xf32>) {
  tenon.epilogue ins(%acc = %y: memref<?x4096xf32>) outs(%s: memref<?x1xf32>) {
    %0 = tenon.reduce_row mean %acc : tensor<?x4096xf32>
    tenon.yield %0 : tensor<?x1xf32>
  }
  return
}

// -----

// Of a longer one more threads keep as many elements each.
// CHECK-LABEL: llvm.func @longer_rows_v4
// CHECK-SAME: nvvm.reqntid = array<i32: 512>
// CHECK-COUNT-16: llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: scf.for
// CHECK: nvvm.barrier
// CHECK-COUNT-16: llvm.load {{.*}} : !llvm.ptr<3> -> f32
// CHECK-NOT: llvm.load {{.*}} -> vector<4xf32>
// CHECK-COUNT-16: llvm.store {{.*}} : vector<4xf32>
func.func @longer(%y: memref<?x32768xf32>) {
  tenon.epilogue ins(%acc = %y: memref<?x32768xf32>) outs(%y: memref<?x32768xf32>) {
    %0 = tenon.reduce_row max %acc : tensor<?x32768xf32>
    %1 = tenon.sub %acc, %0 : tensor<?x32768xf32>, tensor<?x1xf32>
    tenon.yield %1 : tensor<?x32768xf32>
  }
  return
}

// -----

// The longest are read again, and so are those of f64 that 256 threads cannot keep.
// CHECK-LABEL: llvm.func @long_rows_v4
// CHECK-SAME: nvvm.reqntid = array<i32: 1024>
// CHECK: scf.for
// CHECK: nvvm.barrier
// CHECK: scf.for
func.func @long(%y: memref<?x32772xf32>) {
  tenon.epilogue ins(%acc = %y: memref<?x32772xf32>) outs(%y: memref<?x32772xf32>) {
    %0 = tenon.reduce_row max %acc : tensor<?x32772xf32>
    %1 = tenon.sub %acc, %0 : tensor<?x32772xf32>, tensor<?x1xf32>
    tenon.yield %1 : tensor<?x32772xf32>
  }
  return
}

// -----

// CHECK-LABEL: llvm.func @doubles_rows_v2
// CHECK-SAME: nvvm.reqntid = array<i32: 256>
// CHECK: scf.for
func.func @doubles(%y: memref<?x20000xf64>) {
  tenon.epilogue ins(%acc = %y: memref<?x20000xf64>) outs(%y: memref<?x20000xf64>) {
    %0 = tenon.reduce_row max %acc : tensor<?x20000xf64>
    %1 = tenon.sub %acc, %0 : tensor<?x20000xf64>, tensor<?x1xf64>
    tenon.yield %1 : tensor<?x20000xf64>
  }
  return
}

// -----

// What was found of groups elsewhere is repeated; nothing meets.
// CHECK-LABEL: llvm.func @repeat_rows_v4
// CHECK-NOT: nvvm.shfl.sync
// CHECK: llvm.store {{.*}} : vector<4xf32>
func.func @repeat(%found: memref<?x4xf32>, %bias: memref<4xf32>, %y: memref<?x64xf32>) {
  tenon.epilogue ins(%f = %found: memref<?x4xf32>, %b = %bias: memref<4xf32>) outs(%y: memref<?x64xf32>) {
    %0 = tenon.add %f, %b : tensor<?x4xf32>, tensor<4xf32>
    %1 = tenon.repeat_columns %0 {times = 16} : tensor<?x4xf32>
    tenon.yield %1 : tensor<?x64xf32>
  }
  return
}
