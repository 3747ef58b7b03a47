// f8E4M3FN is converted by instructions where all targets have them; they know no infinity of f8E5M2.
// RUN: tenon-opt %s --pass-pipeline='builtin.module(gpu.module(tenon-lower-kernels{converts-bytes=true}))' | FileCheck %s
// RUN: tenon-opt %s --pass-pipeline='builtin.module(gpu.module(tenon-lower-kernels))' | FileCheck %s --check-prefix=OTHER --implicit-check-not=cvt.

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @round
  // CHECK: %[[ZERO_AND:.*]] = llvm.inline_asm "cvt.rn.satfinite.e4m3x2.f32 $0, 0f00000000, $1;", "=h,f" %arg0 : (f32) -> i16
  // CHECK: llvm.trunc %[[ZERO_AND]] : i16 to i8
  // OTHER-LABEL: llvm.func @round
  llvm.func @round(%x: f32, %to: !llvm.ptr) {
    %0 = arith.truncf %x : f32 to f8E4M3FN
    %1 = arith.bitcast %0 : f8E4M3FN to i8
    llvm.store %1, %to : i8, !llvm.ptr
    llvm.return
  }

  // CHECK-LABEL: llvm.func @extend
  // CHECK: llvm.inline_asm "cvt.rn.f16x2.e4m3x2 $0, $1;", "=r,h" %{{.*}} : (i16) -> i32
  // CHECK: llvm.fpext %{{.*}} : f16 to f32
  // OTHER-LABEL: llvm.func @extend
  llvm.func @extend(%x: i8) -> f32 {
    %0 = arith.bitcast %x : i8 to f8E4M3FN
    %1 = arith.extf %0 : f8E4M3FN to f32
    llvm.return %1 : f32
  }

  // CHECK-LABEL: llvm.func @with_infinity
  // CHECK-NOT: cvt.
  // OTHER-LABEL: llvm.func @with_infinity
  llvm.func @with_infinity(%x: f32, %to: !llvm.ptr) {
    %0 = arith.truncf %x : f32 to f8E5M2
    %1 = arith.bitcast %0 : f8E5M2 to i8
    llvm.store %1, %to : i8, !llvm.ptr
    llvm.return
  }
}
