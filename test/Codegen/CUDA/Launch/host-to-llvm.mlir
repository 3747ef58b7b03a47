// RUN: tenon-opt %s --tenon-emit-kernels --tenon-host-abi=device=cuda --canonicalize --convert-scf-to-cf --expand-strided-metadata --lower-affine --tenon-host-to-llvm | FileCheck %s --implicit-check-not=blaslt. --implicit-check-not=tenon.launch

// TenonBlasLtPlan: n, k, input, output, compute, activation, bias, 0, scales, alpha, beta.
// CHECK: llvm.mlir.global internal constant @tenon_plan_0() {{.*}} : !llvm.struct<(i64, i64, i32, i32, i32, i32, i32, i32, i32, f64, f64)>
// CHECK: llvm.mlir.constant(32 : i64)
// CHECK: llvm.insertvalue {{.*}}[0]
// CHECK: llvm.mlir.constant(64 : i64)
// CHECK: llvm.insertvalue {{.*}}[1]
// CHECK: llvm.mlir.constant(2 : i32)
// CHECK: llvm.insertvalue {{.*}}[2]
// CHECK: llvm.mlir.constant(0 : i32)
// CHECK: llvm.insertvalue {{.*}}[3]
// CHECK: llvm.mlir.constant(0 : i32)
// CHECK: llvm.insertvalue {{.*}}[4]
// CHECK: llvm.mlir.constant(1 : i32)
// CHECK: llvm.insertvalue {{.*}}[5]
// CHECK: llvm.mlir.constant(1 : i32)
// CHECK: llvm.insertvalue {{.*}}[6]
// CHECK: llvm.mlir.constant(2.000000e+00 : f64)
// CHECK: llvm.insertvalue {{.*}}[9]
// CHECK: llvm.mlir.constant(0.000000e+00 : f64)
// CHECK: llvm.insertvalue {{.*}}[10]

// Absent scales and the residual are null; arguments of a launch lie on the stack.
// CHECK-LABEL: llvm.func @layer__cuda(
// CHECK-SAME: %[[CALL:[^:]*]]: !llvm.ptr
// CHECK: llvm.alloca
// CHECK: %[[PLAN:.*]] = llvm.mlir.addressof @tenon_plan_0
// CHECK: %[[X_SCALE:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: %[[W_SCALE:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: llvm.call @tenonBlasLtRun(%[[CALL]], %[[PLAN]], %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %[[X_SCALE]], %[[W_SCALE]], %{{[^,]*}}, %[[NULL]], %{{[^,]*}}, %{{[^,]*}}) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
// CHECK: llvm.call @tenonLaunchKernel(%[[CALL]], %{{.*}}) : (!llvm.ptr, i32, i64, i64, i64, i64, i64, i64, i64, !llvm.ptr, i32) -> ()
func.func @layer(%x: memref<?x64xbf16>, %w: memref<32x64xbf16>, %b: memref<32xf32>, %y: memref<?x32xf32>) {
  %ws = memref.alloc() : memref<33554432xi8>
  %plan = blaslt.plan n = 32, k = 64, compute = f32 alpha = 2.0 bias activation = relu : bf16 -> f32
  blaslt.run %plan ins(%x, %w : memref<?x64xbf16>, memref<32x64xbf16>) bias(%b : memref<32xf32>)
      workspace(%ws : memref<33554432xi8>) outs(%y : memref<?x32xf32>)
  tenon.epilogue ins(%acc = %y: memref<?x32xf32>) outs(%y: memref<?x32xf32>) {
    %0 = tenon.mish %acc : tensor<?x32xf32>
    tenon.yield %0 : tensor<?x32xf32>
  }
  return
}
