// RUN: tenon-opt %s --tenon-host-to-llvm --split-input-file --verify-diagnostics | FileCheck %s

// The constant is that of a launch which nothing but the GPU bounds.
module attributes {gpu.container_module, tenon.kernels = ["other", "tiled"]} {
  // CHECK: llvm.mlir.global internal constant @[[KERNEL:tenon_persistent_[0-9]+]]()
  // CHECK: llvm.mlir.constant(1 : i32) : i32
  // CHECK: llvm.mlir.constant(2 : i32) : i32
  // CHECK: llvm.mlir.constant(2147483647 : i64) : i64
  // CHECK-LABEL: llvm.func @resident_blocks(
  // CHECK-SAME: %[[CALL:[^:]*]]: !llvm.ptr
  // CHECK: %[[CONSTANT:.*]] = llvm.mlir.addressof @[[KERNEL]]
  // CHECK: %[[THREADS:.*]] = llvm.mlir.constant(384 : i64) : i64
  // CHECK: %[[BYTES:.*]] = llvm.mlir.constant(231168 : i64) : i64
  // CHECK: %[[BLOCKS:.*]] = llvm.call @tenonResidentBlocks(%[[CALL]], %[[CONSTANT]], %[[THREADS]], %[[BYTES]]) : (!llvm.ptr, !llvm.ptr, i64, i64) -> i64
  // CHECK: llvm.return %[[BLOCKS]]
  func.func @resident_blocks(%call: !llvm.ptr) -> i64 {
    %blocks = tenon.resident_blocks @kernels::@tiled {cluster_blocks = 2 : i64, shared_bytes = 231168 : i64, threads = 384 : i64}
    return %blocks : i64
  }
}

// -----

module attributes {gpu.container_module, tenon.kernels = ["other"]} {
  func.func @unlisted(%call: !llvm.ptr) -> i64 {
    // expected-error @below {{'tenon.resident_blocks' op asks for a kernel that the module's 'tenon.kernels' does not list}}
    // expected-error @below {{failed to legalize operation 'tenon.resident_blocks'}}
    %blocks = tenon.resident_blocks @kernels::@tiled {cluster_blocks = 2 : i64, shared_bytes = 0 : i64, threads = 384 : i64}
    return %blocks : i64
  }
}
