// RUN: tenon-opt %s --tenon-raise-linalg | FileCheck %s

// CHECK-LABEL: func.func @name_relu(
// CHECK-NEXT:    tenon.relu %arg0
func.func @name_relu(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.max %x, 0.0 : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @name_sigmoid(
// CHECK-NEXT:    tenon.sigmoid %arg0
func.func @name_sigmoid(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.mul %x, -1.0 : tensor<?x8xf32>
  %1 = tenon.exp %0 : tensor<?x8xf32>
  %2 = tenon.add %1, 1.0 : tensor<?x8xf32>
  %3 = tenon.div 1.0, %2 : tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @name_silu(
// CHECK-NEXT:    tenon.silu %arg0
func.func @name_silu(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.sigmoid %x : tensor<?x8xf32>
  %1 = tenon.mul %0, %x : tensor<?x8xf32>, tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @name_silu_as_quotient(
// CHECK-NEXT:    tenon.silu %arg0
func.func @name_silu_as_quotient(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.mul %x, -1.0 : tensor<?x8xf32>
  %1 = tenon.exp %0 : tensor<?x8xf32>
  %2 = tenon.add %1, 1.0 : tensor<?x8xf32>
  %3 = tenon.div %x, %2 : tensor<?x8xf32>, tensor<?x8xf32>
  return %3 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @name_gelu(
// CHECK-NEXT:    tenon.gelu %arg0 : tensor<?x8xf32>
func.func @name_gelu(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.div %x, 1.41421354 : tensor<?x8xf32>
  %1 = math.erf %0 : tensor<?x8xf32>
  %2 = tenon.add %1, 1.0 : tensor<?x8xf32>
  %3 = tenon.mul %x, %2 : tensor<?x8xf32>, tensor<?x8xf32>
  %4 = tenon.mul %3, 0.5 : tensor<?x8xf32>
  return %4 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @name_gelu_tanh(
// CHECK-NEXT:    tenon.gelu %arg0 approximate<tanh> : tensor<?x8xf32>
func.func @name_gelu_tanh(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.mul %x, %x : tensor<?x8xf32>, tensor<?x8xf32>
  %1 = tenon.mul %0, %x : tensor<?x8xf32>, tensor<?x8xf32>
  %2 = tenon.mul %1, 0.044715 : tensor<?x8xf32>
  %3 = tenon.add %x, %2 : tensor<?x8xf32>, tensor<?x8xf32>
  %4 = tenon.mul %3, 0.797884583 : tensor<?x8xf32>
  %5 = tenon.tanh %4 : tensor<?x8xf32>
  %6 = tenon.add %5, 1.0 : tensor<?x8xf32>
  %7 = tenon.mul %6, 0.5 : tensor<?x8xf32>
  %8 = tenon.mul %x, %7 : tensor<?x8xf32>, tensor<?x8xf32>
  return %8 : tensor<?x8xf32>
}

// Of another scale it is none.
// CHECK-LABEL: func.func @no_name_gelu(
// CHECK:         math.erf
func.func @no_name_gelu(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.div %x, 1.5 : tensor<?x8xf32>
  %1 = math.erf %0 : tensor<?x8xf32>
  %2 = tenon.add %1, 1.0 : tensor<?x8xf32>
  %3 = tenon.mul %x, %2 : tensor<?x8xf32>, tensor<?x8xf32>
  %4 = tenon.mul %3, 0.5 : tensor<?x8xf32>
  return %4 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @name_mean_and_rsqrt(
// CHECK-NEXT:    %[[M:.*]] = tenon.reduce_row mean %arg0
// CHECK-NEXT:    %[[R:.*]] = tenon.rsqrt %[[M]]
// CHECK-NEXT:    tenon.mul %arg0, %[[R]]
func.func @name_mean_and_rsqrt(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.reduce_row sum %x : tensor<?x8xf32>
  %1 = tenon.mul %0, 0.125 : tensor<?x1xf32>
  %2 = math.sqrt %1 : tensor<?x1xf32>
  %3 = tenon.div %x, %2 : tensor<?x8xf32>, tensor<?x1xf32>
  return %3 : tensor<?x8xf32>
}
