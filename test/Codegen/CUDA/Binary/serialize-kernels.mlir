// REQUIRES: ptxas
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-serialize-kernels=targets=sm_90a | FileCheck %s --implicit-check-not=gpu.module
// RUN: not tenon-opt %s --tenon-emit-kernels --tenon-serialize-kernels=targets=sm_91 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not tenon-opt %s --tenon-emit-kernels --tenon-serialize-kernels 2>&1 | FileCheck %s --check-prefix=NONE

// UNKNOWN: error: 'sm_91' is not a target; known are sm_80, sm_86, sm_89, sm_90, sm_90a
// NONE: error: no target given; use targets=sm_90a, for example

// 16-byte loads and stores; the launches stay.
// CHECK: tenon.launch @kernels::@double_map_v4
// CHECK: gpu.binary @kernels [#gpu.object<#nvvm.target<O = 3, chip = "sm_90a">
// CHECK-SAME: double_map_v4 = {registers = {{[0-9]+}} : i64, shared_bytes = 0 : i64, spilled_bytes = 0 : i64}
// CHECK-SAME: .version 8.0\0A.target sm_90a
// CHECK-SAME: .entry double_map_v4(
// CHECK-SAME: .reqntid 256
// CHECK-SAME: ld.global.v4.b32
// CHECK-SAME: st.global.v4.b32
// CHECK-SAME: .entry double_map_v1(
// CHECK-SAME: ld.global.b32
// CHECK-SAME: #gpu.object<#nvvm.target<O = 3, chip = "sm_90a">, "P\EDU\BA
func.func @double(%y: memref<?x32xf32>) {
  tenon.epilogue ins(%a = %y: memref<?x32xf32>) outs(%y: memref<?x32xf32>) {
    %0 = tenon.mul %a, 2.0 : tensor<?x32xf32>
    tenon.yield %0 : tensor<?x32xf32>
  }
  return
}
