// RUN: tenon-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tenon-opt %s --split-input-file --verify-diagnostics --canonicalize | FileCheck %s --check-prefix=FOLD

// CHECK-LABEL: @round_trip
func.func @round_trip(%x: tensor<?x8xf16>) -> (tensor<?x1xf16>, tensor<?x1xf16>, tensor<?x1xf16>, tensor<?x1xf16>) {
  // CHECK: tenon.reduce_row sum %{{.*}} : tensor<?x8xf16>
  %0 = tenon.reduce_row sum %x : tensor<?x8xf16>
  // CHECK: tenon.reduce_row mean %{{.*}} : tensor<?x8xf16>
  %1 = tenon.reduce_row mean %x : tensor<?x8xf16>
  // CHECK: tenon.reduce_row max %{{.*}} : tensor<?x8xf16>
  %2 = tenon.reduce_row max %x : tensor<?x8xf16>
  // CHECK: tenon.reduce_row min %{{.*}} : tensor<?x8xf16>
  %3 = tenon.reduce_row min %x : tensor<?x8xf16>
  return %0, %1, %2, %3 : tensor<?x1xf16>, tensor<?x1xf16>, tensor<?x1xf16>, tensor<?x1xf16>
}

// -----

// One column is what it reduces to.
// FOLD-LABEL: @fold_column
// FOLD-NEXT: return %arg0
func.func @fold_column(%x: tensor<?x1xf32>) -> tensor<?x1xf32> {
  %0 = tenon.reduce_row mean %x : tensor<?x1xf32>
  return %0 : tensor<?x1xf32>
}

// -----

// reduce_row-C1
func.func @vector(%x: tensor<8xf32>) {
  // expected-error @below {{'tenon.reduce_row' op reduces the rows of a matrix [M, N], but is given 'tensor<8xf32>'}}
  %0 = tenon.reduce_row sum %x : tensor<8xf32>
  return
}
