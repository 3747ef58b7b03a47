// RUN: tenon-opt %s --split-input-file --verify-diagnostics --tenon-host-to-llvm | FileCheck %s --implicit-check-not=tenon.launch

module attributes {gpu.container_module, tenon.kernels = ["other", "tiled"]} {
  gpu.module @kernels {
    gpu.func @tiled(%x: !llvm.ptr, %m: i64, %token: i64) kernel {
      gpu.return
    }
  }

  // The token's slot, the last argument's, is in the array of addresses and
  // given on its own.
  // Number of the kernel, blocks of a cluster, blocks at most, whether it waits itself,
  // blocks that are resident together.
  // CHECK: llvm.mlir.global internal constant @[[KERNEL:tenon_persistent_[0-9]+]]() {{.*}} : !llvm.struct<(i32, i32, i64, i32, i32)> {
  // CHECK: llvm.mlir.constant(1 : i32) : i32
  // CHECK-NEXT: llvm.insertvalue {{.*}}[0]
  // CHECK-NEXT: llvm.mlir.constant(2 : i32) : i32
  // CHECK-NEXT: llvm.insertvalue {{.*}}[1]
  // CHECK-NEXT: llvm.mlir.constant(192 : i64) : i64
  // CHECK-NEXT: llvm.insertvalue {{.*}}[2]
  // CHECK-NEXT: llvm.mlir.constant(1 : i32) : i32
  // CHECK-NEXT: llvm.insertvalue {{.*}}[3]
  // CHECK-NEXT: llvm.mlir.constant(24 : i32) : i32
  // CHECK-NEXT: llvm.insertvalue {{.*}}[4]
  // CHECK: llvm.mlir.global internal constant @[[PLAIN:tenon_persistent_[0-9]+]]()
  // CHECK: llvm.mlir.constant(1 : i32) : i32
  // CHECK-NEXT: llvm.insertvalue {{.*}}[0]
  // CHECK-NEXT: llvm.mlir.constant(1 : i32) : i32
  // CHECK-NEXT: llvm.insertvalue {{.*}}[1]
  // CHECK-NEXT: llvm.mlir.constant(384 : i64) : i64
  // CHECK-NEXT: llvm.insertvalue {{.*}}[2]
  // CHECK-NEXT: llvm.mlir.constant(0 : i32) : i32
  // CHECK-NEXT: llvm.insertvalue {{.*}}[3]

  // CHECK-LABEL: llvm.func @persistent(
  // CHECK-SAME: %[[CALL:[^:]*]]: !llvm.ptr, %[[X:[^:]*]]: !llvm.ptr, %[[M:[^:]*]]: i64, %[[WORK:[^:]*]]: i64
  // CHECK-DAG: %[[ADDRESSES:.*]] = llvm.alloca %{{.*}} x !llvm.array<3 x ptr>
  // CHECK-DAG: %[[SLOTS:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(ptr, i64, i64)>
  // CHECK-DAG: %[[THREADS:.*]] = llvm.mlir.constant(256 : index) : i64
  // CHECK-DAG: %[[SHARED32:.*]] = llvm.mlir.constant(164000 : i32) : i32
  // CHECK: %[[SHARED:.*]] = llvm.zext %[[SHARED32]] : i32 to i64
  // CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[SLOTS]][0, 2]
  // CHECK: llvm.store %{{.*}}, %[[SLOT]] : i64, !llvm.ptr
  // CHECK: %[[ENTRY:.*]] = llvm.getelementptr %[[ADDRESSES]][0, 2]
  // CHECK: llvm.store %[[SLOT]], %[[ENTRY]] : !llvm.ptr, !llvm.ptr
  // CHECK: %[[CONSTANT:.*]] = llvm.mlir.addressof @[[PLAIN]]
  // CHECK: llvm.call @tenonLaunchPersistent(%[[CALL]], %[[CONSTANT]], %[[WORK]], %[[THREADS]], %[[SHARED]], %[[ADDRESSES]], %[[SLOT]]) : (!llvm.ptr, !llvm.ptr, i64, i64, i64, !llvm.ptr, !llvm.ptr) -> ()
  func.func @persistent(%call: !llvm.ptr, %x: !llvm.ptr, %m: i64, %work: index) {
    %one = arith.constant 1 : index
    %threads = arith.constant 256 : index
    %shared = arith.constant 164000 : i32
    %token = arith.constant 0 : i64
    tenon.launch @kernels::@tiled blocks(%work) threads(%threads)
        shared(%shared) args(%x : !llvm.ptr, %m : i64, %token : i64)
        {persistent = 384 : i64}
    return
  }

  // CHECK-LABEL: llvm.func @clusters(
  // CHECK: %[[CONSTANT:.*]] = llvm.mlir.addressof @[[KERNEL]]
  // CHECK: llvm.call @tenonLaunchPersistent(%{{[^,]*}}, %[[CONSTANT]],
  func.func @clusters(%call: !llvm.ptr, %x: !llvm.ptr, %m: i64, %work: index) {
    %one = arith.constant 1 : index
    tenon.launch @kernels::@tiled blocks(%work) threads(%one)
        args(%x : !llvm.ptr, %m : i64, %m : i64)
        {persistent = 192 : i64, cluster = 2 : i64, waits_itself, resident = 24 : i64}
    return
  }

  // CHECK-LABEL: llvm.func @plain(
  // CHECK-SAME: %[[CALL:[^:]*]]: !llvm.ptr
  // CHECK: %[[SHARED:.*]] = llvm.zext %{{.*}} : i32 to i64
  // CHECK: llvm.call @tenonLaunchKernel(%[[CALL]], %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[SHARED]], %{{[^,]*}}, %{{[^,]*}}) : (!llvm.ptr, i32, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr, i32) -> ()
  func.func @plain(%call: !llvm.ptr, %x: !llvm.ptr, %m: i64, %shared: i32) {
    %one = arith.constant 1 : index
    tenon.launch @kernels::@tiled blocks(%one) threads(%one)
        shared(%shared) args(%x : !llvm.ptr, %m : i64, %m : i64)
    return
  }
}

// -----

module attributes {gpu.container_module, tenon.kernels = ["tiled"]} {
  gpu.module @kernels {
    gpu.func @tiled(%x: !llvm.ptr) kernel {
      gpu.return
    }
  }
  func.func @no_token(%call: !llvm.ptr, %x: !llvm.ptr) {
    %one = arith.constant 1 : index
    // expected-error @below {{is persistent, so its last argument must be an i64, the launch's token}}
    // expected-error @below {{failed to legalize}}
    tenon.launch @kernels::@tiled blocks(%one) threads(%one)
        args(%x : !llvm.ptr) {persistent = 384 : i64}
    return
  }
}
