// Kernels become PTX one by one, in one text with one header. Variables that they share are defined before the first and
// declared before the others that need them; constants and functions are copied, each with its kernel's name before its own.
// REQUIRES: ptxas
// RUN: split-file %s %t
// RUN: tenon-opt %t/several.mlir --tenon-serialize-kernels=targets=sm_90a | FileCheck %s --implicit-check-not=gpu.module
// RUN: not tenon-opt %t/none.mlir --tenon-serialize-kernels=targets=sm_90a 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: the gpu.module has no kernels

// CHECK: gpu.binary @kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_90a">
// CHECK-SAME: alone = {registers
// CHECK-SAME: alone_counts = {registers
// CHECK-SAME: exponentials = {registers
// CHECK-SAME: .version
// CHECK-SAME: .visible .global .align 8 .u64 count
// CHECK-SAME: .visible .global .align 8 .u64 state
// CHECK-SAME: .global .align 4 .b8 alone$alone_table
// CHECK-SAME: .visible .entry alone(
// CHECK-SAME: st.global.b64{{[^;]*}}[state]
// CHECK-SAME: .extern .global .align 8 .u64 count;
// CHECK-SAME: .extern .global .align 8 .u64 state;
// CHECK-SAME: .func {{[^;]*}}alone_counts$slow
// CHECK-SAME: .visible .entry alone_counts(
// CHECK-SAME: ld.global.b64{{[^;]*}}[state]
// CHECK-SAME: .global .align 4 .b8 exponentials$alone_table
// CHECK-SAME: .func {{[^;]*}}exponentials$slow
// CHECK-SAME: .visible .entry exponentials(
//--- none.mlir
gpu.module @kernels {
  llvm.mlir.global external @count(0 : i64) {addr_space = 1 : i32} : i64
}

//--- several.mlir
gpu.module @kernels {
  llvm.mlir.global external @count(0 : i64) {addr_space = 1 : i32} : i64
  llvm.mlir.global internal @state(1 : i64) {addr_space = 1 : i32} : i64
  llvm.mlir.global internal constant @alone_table(dense<[2.0, 3.0, 5.0, 7.0]> : tensor<4xf32>)
      {addr_space = 1 : i32, alignment = 4 : i64} : !llvm.array<4 x f32>

  llvm.func @alone(%y: !llvm.ptr<1>, %i: i64) attributes {nvvm.kernel} {
    %table = llvm.mlir.addressof @alone_table : !llvm.ptr<1>
    %place = llvm.getelementptr %table[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %0 = llvm.load %place : !llvm.ptr<1> -> f32
    llvm.store %0, %y : f32, !llvm.ptr<1>
    %state = llvm.mlir.addressof @state : !llvm.ptr<1>
    llvm.store %i, %state : i64, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @slow(%n: i64) -> i64 attributes {passthrough = ["noinline"]} {
    %0 = llvm.mul %n, %n : i64
    llvm.return %0 : i64
  }

  llvm.func @alone_counts() attributes {nvvm.kernel} {
    %count = llvm.mlir.addressof @count : !llvm.ptr<1>
    %state = llvm.mlir.addressof @state : !llvm.ptr<1>
    %0 = llvm.load %count : !llvm.ptr<1> -> i64
    %1 = llvm.load %state : !llvm.ptr<1> -> i64
    %2 = llvm.add %0, %1 : i64
    %3 = llvm.call @slow(%2) : (i64) -> i64
    llvm.store %3, %count : i64, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @exponentials(%y: !llvm.ptr<1>, %i: i64) attributes {nvvm.kernel} {
    %table = llvm.mlir.addressof @alone_table : !llvm.ptr<1>
    %place = llvm.getelementptr %table[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %0 = llvm.load %place : !llvm.ptr<1> -> f32
    %1 = math.exp %0 : f32
    llvm.store %1, %y : f32, !llvm.ptr<1>
    %square = llvm.call @slow(%i) : (i64) -> i64
    %end = llvm.getelementptr %y[%square] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    llvm.store %0, %end : f32, !llvm.ptr<1>
    llvm.return
  }
}
