// The dialect's attributes on functions, their arguments and results, and modules.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: module attributes {tenon.kernels = ["forward_0", "forward_1"]}
module attributes {tenon.kernels = ["forward_0", "forward_1"]} {
  // CHECK: @forward_prepare(%arg0: tensor<4x8xf32> {tenon.name = "weight", tenon.param})
  func.func @forward_prepare(%w: tensor<4x8xf32> {tenon.name = "weight", tenon.param}) -> tensor<4x8xf32> {
    return %w : tensor<4x8xf32>
  }
  // CHECK: @forward(%arg0: tensor<?x8xf32> {tenon.name = "x"}, %arg1: tensor<4x8xf32> {tenon.prepared = 0 : i64})
  // CHECK-SAME: -> (tensor<?x4xf32> {tenon.name = "y"}) attributes {tenon.prepare = @forward_prepare}
  func.func @forward(%x: tensor<?x8xf32> {tenon.name = "x"}, %w: tensor<4x8xf32> {tenon.prepared = 0 : i64})
      -> (tensor<?x4xf32> {tenon.name = "y"}) attributes {tenon.prepare = @forward_prepare} {
    %y = tenon.linear %x, %w : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
}

// -----

// A parameter stays one when it is bufferized, and may have rank 0.
// CHECK: @bufferized(%arg0: memref<4x8xf32> {tenon.param}, %arg1: tensor<f32> {tenon.param})
func.func @bufferized(%w: memref<4x8xf32> {tenon.param}, %s: tensor<f32> {tenon.param}) {
  return
}

// -----

// attributes-C1
// expected-error @below {{'func.func' op 'tenon.name' must be a string, but is 4 : i64}}
func.func @name_of_argument(%x: tensor<4xf32> {tenon.name = 4}) {
  return
}

// -----

// attributes-C1
// expected-error @below {{'func.func' op 'tenon.name' must be a string, but is unit}}
func.func @name_of_result(%x: tensor<4xf32>) -> (tensor<4xf32> {tenon.name}) {
  return %x : tensor<4xf32>
}

// -----

// attributes-C2
// expected-error @below {{'func.func' op 'tenon.prepared' of argument #1 must be the number, an i64, of a result of the function's prepare, but is -1 : i64}}
func.func @prepared_negative(%x: tensor<4xf32>, %w: tensor<4xf32> {tenon.prepared = -1}) {
  return
}

// -----

// attributes-C2
// expected-error @below {{'func.func' op 'tenon.prepared' of argument #0 must be the number, an i64, of a result of the function's prepare, but is 0 : i32}}
func.func @prepared_i32(%w: tensor<4xf32> {tenon.prepared = 0 : i32}) {
  return
}

// -----

// attributes-C3
// expected-error @below {{'func.func' op 'tenon.params' is not an attribute of an argument; expected 'tenon.param', 'tenon.name' or 'tenon.prepared'}}
func.func @misspelt(%w: tensor<4xf32> {tenon.params}) {
  return
}

// -----

// attributes-C4
// expected-error @below {{'func.func' op 'tenon.param' of argument #0 is a mark and takes no value, but is true}}
func.func @param_value(%w: tensor<4xf32> {tenon.param = true}) {
  return
}

// -----

// attributes-C5
// expected-error @below {{'func.func' op argument #0 is marked 'tenon.param' and must be a statically shaped tensor, but is 'tensor<?x4xf32>'}}
func.func @param_dynamic(%w: tensor<?x4xf32> {tenon.param}) {
  return
}

// -----

// attributes-C5
// expected-error @below {{'func.func' op argument #0 is marked 'tenon.param' and must be a statically shaped tensor, but is 'f32'}}
func.func @param_scalar(%w: f32 {tenon.param}) {
  return
}

// -----

// attributes-C6
// expected-error @below {{'func.func' op 'tenon.param' is not an attribute of a result; only 'tenon.name' is}}
func.func @param_result(%x: tensor<4xf32>) -> (tensor<4xf32> {tenon.param}) {
  return %x : tensor<4xf32>
}

// -----

// attributes-C7
// expected-error @below {{'func.func' op 'tenon.prepare' must be the symbol of a function, but is "f_prepare"}}
func.func @prepare_string() attributes {tenon.prepare = "f_prepare"} {
  return
}

// -----

// attributes-C8
// expected-error @below {{'builtin.module' op 'tenon.kernels' must be an array of strings, but is [1]}}
module attributes {tenon.kernels = [1]} {
}

// -----

// attributes-C9
// expected-error @below {{'func.func' op 'tenon.param' is not an attribute of this op}}
func.func @param_function() attributes {tenon.param} {
  return
}

// -----

// attributes-C9
// expected-error @below {{'func.func' op 'tenon.kernels' is not an attribute of this op}}
func.func @kernels_function() attributes {tenon.kernels = ["a"]} {
  return
}
