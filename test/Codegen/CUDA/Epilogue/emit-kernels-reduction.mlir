// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels | FileCheck %s --implicit-check-not=tenon.epilogue --implicit-check-not=tenon.batch_norm

// One statistics and one normalise kernel, with the ops around the batch norm in them.
// CHECK: tenon.kernels = ["norm_reduce_v8", "norm_map_v8", "norm_reduce_v1", "norm_map_v1"]
// CHECK-LABEL: func.func @norm
// CHECK: %[[STATES:.*]] = memref.alloc() : memref<16x2x4096xf32>
// CHECK: tenon.launch @kernels::@norm_reduce_v8 {{.*}} args(%[[Y:.*]] : memref<?x4096xbf16>, %[[S:.*]] : memref<4096xbf16>, %[[STATES]] : {{.*}}, %[[M:.*]] : i64, %[[G:.*]] : i64)
// CHECK: tenon.launch @kernels::@norm_map_v8 {{.*}} args(%[[Y]] : memref<?x4096xbf16>, %[[S]] : {{.*}}, %[[STATES]] : {{.*}}, %[[M]] : i64, %[[G]] : i64)

// Statistics: no store but that of the states, one barrier a level of the tree.
// CHECK-LABEL: llvm.func @norm_reduce_v8
// CHECK-SAME: nvvm.minctasm = 2 : i32, nvvm.reqntid = array<i32: 512>
// CHECK: scf.for
// CHECK: arith.cmpi sle
// CHECK-COUNT-4: llvm.load %{{.*}} -> vector<8xbf16>
// CHECK-NOT: llvm.store {{.*}}ptr<1>
// CHECK-COUNT-4: nvvm.barrier
// CHECK-NOT: nvvm.barrier
// CHECK-COUNT-2: llvm.store %{{.*}} : vector<8xf32>, !llvm.ptr<1>
// CHECK: llvm.return

// Normalise: running statistics are read and written under one condition.
// CHECK-LABEL: llvm.func @norm_map_v8
// CHECK: scf.for
// CHECK: nvvm.barrier
// CHECK: scf.if
// CHECK: scf.if
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<1>
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<1>
// CHECK: math.sqrt
// CHECK: nvvm.barrier
// CHECK-NOT: nvvm.barrier
// CHECK: scf.for
// CHECK: arith.maximumf
// CHECK-COUNT-4: llvm.store %{{.*}} : vector<8xbf16>, !llvm.ptr<1>
func.func @norm(%y: memref<?x4096xbf16>, %s: memref<4096xbf16>, %m: memref<4096xf32>, %v: memref<4096xf32>) {
  tenon.epilogue ins(%a = %y: memref<?x4096xbf16>, %scale = %s: memref<4096xbf16>, %mean = %m: memref<4096xf32>, %var = %v: memref<4096xf32>)
      outs(%y: memref<?x4096xbf16>, %m: memref<4096xf32>, %v: memref<4096xf32>) {
    %0 = tenon.mul %a, %scale : tensor<?x4096xbf16>, tensor<4096xbf16>
    %1:3 = tenon.batch_norm_training %0 running(%mean, %var)
        : (tensor<?x4096xbf16>, tensor<4096xf32>, tensor<4096xf32>) -> (tensor<?x4096xbf16>, tensor<4096xf32>, tensor<4096xf32>)
    %2 = tenon.relu %1#0 : tensor<?x4096xbf16>
    tenon.yield %2, %1#1, %1#2 : tensor<?x4096xbf16>, tensor<4096xf32>, tensor<4096xf32>
  }
  return
}
