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

// A place is none of the input's numbers.
// CHECK-LABEL: @places
// FOLD-LABEL: @places
func.func @places(%x: tensor<?x8xf16>, %n: tensor<?x8xf32>, %c: tensor<?x1xf32>, %d: tensor<?x8xf64>)
    -> (tensor<?x1xf32>, tensor<?x2xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf64>) {
  // CHECK: tenon.reduce_row argmax %{{.*}} : tensor<?x8xf16>
  %0 = tenon.reduce_row argmax %x : tensor<?x8xf16>
  // CHECK: tenon.reduce_row argmin %{{.*}} {groups = 2 : i64} : tensor<?x8xf16>
  %1 = tenon.reduce_row argmin %x {groups = 2} : tensor<?x8xf16>
  // CHECK: tenon.reduce_row argmax %{{.*}} at %{{.*}} : tensor<?x8xf16>, tensor<?x8xf32>
  %2 = tenon.reduce_row argmax %x at %n : tensor<?x8xf16>, tensor<?x8xf32>
  // FOLD: tenon.reduce_row argmax %{{.*}} : tensor<?x1xf32>
  %3 = tenon.reduce_row argmax %c : tensor<?x1xf32>
  %4 = tenon.reduce_row argmin %d : tensor<?x8xf64>
  return %0, %1, %2, %3, %4 : tensor<?x1xf32>, tensor<?x2xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf64>
}

// -----

// reduce_row-C3
func.func @too_wide(%x: tensor<?x16777217xf16>) {
  // expected-error @below {{'tenon.reduce_row' op numbers columns in f32, which tells 16777216 apart, but has 16777217; give numbers}}
  %0 = tenon.reduce_row argmax %x : tensor<?x16777217xf16>
  return
}

// -----

// reduce_row-C4
func.func @numbers_of_a_sum(%x: tensor<?x8xf32>) {
  // expected-error @below {{'tenon.reduce_row' op gives no place, so it takes no numbers}}
  %0 = tenon.reduce_row sum %x at %x : tensor<?x8xf32>, tensor<?x8xf32>
  return
}

// -----

// reduce_row-C4
func.func @narrow_numbers(%x: tensor<?x8xf16>) {
  // expected-error @below {{'tenon.reduce_row' op takes numbers 'tensor<?x8xf32>', but is given 'tensor<?x8xf16>'}}
  %0 = tenon.reduce_row argmin %x at %x : tensor<?x8xf16>, tensor<?x8xf16>
  return
}

// -----

// reduce_row-C1
func.func @vector(%x: tensor<8xf32>) {
  // expected-error @below {{'tenon.reduce_row' op reduces the rows of a matrix [M, N], but is given 'tensor<8xf32>'}}
  %0 = tenon.reduce_row sum %x : tensor<8xf32>
  return
}

// -----

// CHECK-LABEL: @groups
func.func @groups(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  // CHECK: tenon.reduce_row mean %{{.*}} {groups = 2 : i64} : tensor<?x8xf16>
  %0 = tenon.reduce_row mean %x {groups = 2} : tensor<?x8xf16>
  // CHECK: tenon.repeat_columns %{{.*}} {times = 4 : i64} : tensor<?x2xf16>
  %1 = tenon.repeat_columns %0 {times = 4} : tensor<?x2xf16>
  return %1 : tensor<?x8xf16>
}

// -----

// Groups of one column are what they are reduced to, and a column once is itself.
// FOLD-LABEL: @fold_groups
// FOLD-NEXT: return %arg0
func.func @fold_groups(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.reduce_row max %x {groups = 8} : tensor<?x8xf32>
  %1 = tenon.repeat_columns %0 {times = 1} : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// reduce_row-C2
func.func @no_divisor(%x: tensor<?x8xf32>) {
  // expected-error @below {{'tenon.reduce_row' op reduces equal groups of columns, but is to make 3 of 'tensor<?x8xf32>'}}
  %0 = tenon.reduce_row sum %x {groups = 3} : tensor<?x8xf32>
  return
}

// -----

// reduce_row-C2
func.func @no_groups(%x: tensor<?x8xf32>) {
  // expected-error @below {{'tenon.reduce_row' op reduces equal groups of columns, but is to make 0 of 'tensor<?x8xf32>'}}
  %0 = tenon.reduce_row sum %x {groups = 0} : tensor<?x8xf32>
  return
}

// -----

// repeat_columns-C1
func.func @repeat_vector(%x: tensor<8xf32>) {
  // expected-error @below {{'tenon.repeat_columns' op repeats the columns of a matrix [M, G], but is given 'tensor<8xf32>'}}
  %0 = tenon.repeat_columns %x {times = 2} : tensor<8xf32>
  return
}

// -----

// repeat_columns-C2
func.func @repeat_never(%x: tensor<?x8xf32>) {
  // expected-error @below {{attribute 'times' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0 = "tenon.repeat_columns"(%x) {times = 0} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
