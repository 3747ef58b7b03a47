// RUN: tenon-opt %s --pass-pipeline='builtin.module(gpu.module(tenon-lower-kernels))' | FileCheck %s --implicit-check-not=math. --implicit-check-not=arith. --implicit-check-not=scf.

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @functions
  llvm.func @functions(%x: f32, %y: f64) -> f32 {
    // CHECK: llvm.call @__nv_erff(%{{.*}}) : (f32) -> f32
    %0 = math.erf %x : f32
    // CHECK: llvm.call @__nv_exp(%{{.*}}) : (f64) -> f64
    %1 = math.exp %y : f64
    // CHECK: llvm.fptrunc
    %2 = arith.truncf %1 : f64 to f32
    // CHECK: llvm.fadd %{{.*}}, %{{.*}} {fastmathFlags = #llvm.fastmath<contract>} : f32
    %3 = arith.addf %0, %2 fastmath<contract> : f32
    // Not libdevice's, which is approximate.
    // CHECK: llvm.intr.sqrt(%{{.*}}) : (f32) -> f32
    %4 = math.sqrt %3 : f32
    // Not libdevice's, which takes three more instructions.
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%{{.*}}) : (f32) -> f32
    %5 = math.exp2 %4 : f32
    // Which libdevice has, but not upstream's patterns.
    // CHECK: llvm.intr.trunc(%{{.*}}) : (f32) -> f32
    %6 = math.trunc %5 : f32
    llvm.return %6 : f32
  }

  // Kernels are lowered side by side, and call one function.
  // CHECK-LABEL: llvm.func @in_loop
  // CHECK: llvm.cond_br
  // CHECK: llvm.call @__nv_erff
  // CHECK: llvm.br
  llvm.func @in_loop(%x: f32, %n: i32) -> f32 {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> (f32) : i32 {
      %1 = math.erf %y : f32
      scf.yield %1 : f32
    }
    llvm.return %0 : f32
  }
}
