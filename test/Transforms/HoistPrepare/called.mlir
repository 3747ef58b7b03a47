// RUN: tenon-opt %s --tenon-hoist-prepare --remarks-filter=tenon-hoist-prepare 2>&1 | FileCheck %s

// CHECK: [[@LINE+3]]:1: remark: [Missed] HoistPrepare | Category:tenon-hoist-prepare | Function=no_hoist_called | Reason="a caller would have to pass the prepared values", Suggestion="inline the calls first (--inline)"
// CHECK: remark: [Passed] HoistPrepare | Category:tenon-hoist-prepare | Function=hoist | Remark="1 ops that depend on parameters alone moved to @hoist_prepare"
// CHECK: func.func @no_hoist_called(
func.func @no_hoist_called(%x: tensor<4x8xf32>, %s: tensor<8xf32> {tenon.param}) -> tensor<4x8xf32> {
  %0 = tenon.relu %s : tensor<8xf32>
  %1 = tenon.mul %x, %0 : tensor<4x8xf32>, tensor<8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK: func.func @hoist_prepare(
// CHECK: func.func @hoist_run(
func.func @hoist(%x: tensor<4x8xf32>, %s: tensor<8xf32> {tenon.param}) -> tensor<4x8xf32> {
  %0 = tenon.tanh %s : tensor<8xf32>
  %1 = func.call @no_hoist_called(%x, %0) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
