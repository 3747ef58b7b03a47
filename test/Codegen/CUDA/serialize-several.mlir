// Kernels become PTX one by one, in one text with one header. What they share is defined before the first and declared
// before the others that need it; what is local to one has its name.
// REQUIRES: ptxas
// RUN: tenon-opt %s --tenon-serialize-kernels=targets=sm_90a | FileCheck %s --implicit-check-not=gpu.module

// CHECK: gpu.binary @kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_90a">
// CHECK-SAME: alone = {registers
// CHECK-SAME: counts = {registers
// CHECK-SAME: exponentials = {registers
// CHECK-SAME: .version
// CHECK-SAME: .visible .global .align 8 .u64 count
// CHECK-NOT: {{count|.version}}
// CHECK-SAME: .global .align 4 .b8 alone_table
// CHECK-SAME: .visible .entry alone(
// CHECK-NOT: .version
// CHECK-SAME: .extern .global .align 8 .u64 count;
// CHECK-SAME: .visible .entry counts(
// CHECK-SAME: .global .align 4 .b8 exponentials_table
// CHECK-SAME: .visible .entry exponentials(
gpu.module @kernels {
  llvm.mlir.global external @count(0 : i64) {addr_space = 1 : i32} : i64
  llvm.mlir.global internal constant @table(dense<[2.0, 3.0, 5.0, 7.0]> : tensor<4xf32>)
      {addr_space = 1 : i32, alignment = 4 : i64} : !llvm.array<4 x f32>

  llvm.func @alone(%y: !llvm.ptr<1>, %i: i64) attributes {nvvm.kernel} {
    %table = llvm.mlir.addressof @table : !llvm.ptr<1>
    %place = llvm.getelementptr %table[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %0 = llvm.load %place : !llvm.ptr<1> -> f32
    llvm.store %0, %y : f32, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @counts() attributes {nvvm.kernel} {
    %count = llvm.mlir.addressof @count : !llvm.ptr<1>
    %0 = llvm.load %count : !llvm.ptr<1> -> i64
    %1 = llvm.add %0, %0 : i64
    llvm.store %1, %count : i64, !llvm.ptr<1>
    llvm.return
  }

  llvm.func @exponentials(%y: !llvm.ptr<1>, %i: i64) attributes {nvvm.kernel} {
    %table = llvm.mlir.addressof @table : !llvm.ptr<1>
    %place = llvm.getelementptr %table[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %0 = llvm.load %place : !llvm.ptr<1> -> f32
    %1 = math.exp %0 : f32
    llvm.store %1, %y : f32, !llvm.ptr<1>
    llvm.return
  }
}
