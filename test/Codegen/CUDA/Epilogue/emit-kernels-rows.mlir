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

// One of 16 bits is kept as it lies in memory, so that a multiprocessor has two, and its elements are extended for each pass.
// CHECK-LABEL: llvm.func @words_rows_v8
// CHECK-SAME: nvvm.minctasm = 2 : i32, nvvm.reqntid = array<i32: 512>
// CHECK-COUNT-8: llvm.load {{.*}} -> vector<4xi32>
// CHECK-NOT: llvm.load
// CHECK-COUNT-32: llvm.inline_asm has_side_effects "", "=r,0"
// CHECK: nvvm.barrier
// CHECK-COUNT-32: llvm.inline_asm has_side_effects "", "=r,0"
// CHECK: nvvm.barrier
// CHECK-COUNT-32: llvm.inline_asm has_side_effects "", "=r,0"
// CHECK-NOT: llvm.inline_asm
func.func @words(%y: memref<?x32768xbf16>) {
  tenon.epilogue ins(%acc = %y: memref<?x32768xbf16>) outs(%y: memref<?x32768xbf16>) {
    %z = tenon.cast %acc : tensor<?x32768xbf16> -> tensor<?x32768xf32>
    %0 = tenon.reduce_row max %z : tensor<?x32768xf32>
    %1 = tenon.sub %z, %0 : tensor<?x32768xf32>, tensor<?x1xf32>
    %2 = tenon.exp %1 : tensor<?x32768xf32>
    %3 = tenon.reduce_row sum %2 : tensor<?x32768xf32>
    %4 = tenon.log %3 : tensor<?x1xf32>
    %5 = tenon.sub %1, %4 : tensor<?x32768xf32>, tensor<?x1xf32>
    %6 = tenon.cast %5 : tensor<?x32768xf32> -> tensor<?x32768xbf16>
    tenon.yield %6 : tensor<?x32768xbf16>
  }
  return
}

// -----

// What takes long would be computed for each reduction anew, and operands of columns loaded: they are kept as they are.
// CHECK-LABEL: llvm.func @heavy_rows_v8
// CHECK-NOT: nvvm.minctasm
// CHECK: llvm.load {{.*}} -> vector<8xbf16>
// CHECK-LABEL: llvm.func @biased_rows_v8
// CHECK-NOT: nvvm.minctasm
// CHECK: llvm.load {{.*}} -> vector<8xbf16>
func.func @heavy(%y: memref<?x32768xbf16>) {
  tenon.epilogue ins(%acc = %y: memref<?x32768xbf16>) outs(%y: memref<?x32768xbf16>) {
    %z = tenon.gelu %acc : tensor<?x32768xbf16>
    %0 = tenon.reduce_row max %z : tensor<?x32768xbf16>
    %1 = tenon.sub %z, %0 : tensor<?x32768xbf16>, tensor<?x1xbf16>
    tenon.yield %1 : tensor<?x32768xbf16>
  }
  return
}

func.func @biased(%y: memref<?x32768xbf16>, %b: memref<32768xf32>) {
  tenon.epilogue ins(%acc = %y: memref<?x32768xbf16>, %bias = %b: memref<32768xf32>) outs(%y: memref<?x32768xbf16>) {
    %a = tenon.cast %acc : tensor<?x32768xbf16> -> tensor<?x32768xf32>
    %z = tenon.add %a, %bias : tensor<?x32768xf32>, tensor<32768xf32>
    %0 = tenon.reduce_row max %z : tensor<?x32768xf32>
    %1 = tenon.sub %z, %0 : tensor<?x32768xf32>, tensor<?x1xf32>
    %2 = tenon.cast %1 : tensor<?x32768xf32> -> tensor<?x32768xbf16>
    tenon.yield %2 : tensor<?x32768xbf16>
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
