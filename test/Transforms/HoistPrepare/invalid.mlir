// RUN: tenon-opt %s --tenon-hoist-prepare --split-input-file --verify-diagnostics

// expected-error @+1 {{cannot split '@f': '@f_prepare' exists already; rename one of them}}
func.func @f(%x: tensor<4x8xf32>, %s: tensor<8xf32> {tenon.param}) -> tensor<4x8xf32> {
  %0 = tenon.relu %s : tensor<8xf32>
  %1 = tenon.mul %x, %0 : tensor<4x8xf32>, tensor<8xf32>
  return %1 : tensor<4x8xf32>
}
// expected-note @+1 {{see the other one}}
func.func private @f_prepare()

// -----

// expected-error @+1 {{cannot split '@f': '@f_run' exists already; rename one of them}}
func.func @f(%x: tensor<4x8xf32>, %s: tensor<8xf32> {tenon.param}) -> tensor<4x8xf32> {
  %0 = tenon.relu %s : tensor<8xf32>
  %1 = tenon.mul %x, %0 : tensor<4x8xf32>, tensor<8xf32>
  return %1 : tensor<4x8xf32>
}
// expected-note @+1 {{see the other one}}
func.func private @f_run()
