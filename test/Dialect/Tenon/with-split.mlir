// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --cse --canonicalize | FileCheck %s --check-prefix=CSE
// RUN: tenon-opt %s --tenon-to-linalg --canonicalize | FileCheck %s --check-prefix=CPU --implicit-check-not=tenon.split --implicit-check-not=tenon.with_split

// In two parts, with any M.
// CHECK-LABEL: @two_parts
// CHECK: %[[S:.*]]:2 = tenon.split %[[X:.*]] : (tensor<?x40xf32>)
// CHECK: tenon.with_split %[[X]], %[[S]]#0, %[[S]]#1 : tensor<?x40xf32>, tensor<?x128xf16>, tensor<?x1xf32>
// CPU-LABEL: @two_parts
// CPU-SAME: (%[[X:.*]]: tensor<?x40xf32>)
// CPU: return %[[X]]
func.func @two_parts(%x: tensor<?x40xf32>) -> tensor<?x40xf32> {
  %halves, %factors = tenon.split %x : (tensor<?x40xf32>) -> (tensor<?x128xf16>, tensor<?x1xf32>)
  %0 = tenon.with_split %x, %halves, %factors : tensor<?x40xf32>, tensor<?x128xf16>, tensor<?x1xf32>
  return %0 : tensor<?x40xf32>
}

// In one; equal ones are one.
// CHECK-LABEL: @one_part
// CHECK-COUNT-2: tenon.with_split %{{.*}} : tensor<4x40xf32>, tensor<4x40xf16>, tensor<4x1xf32>
// CSE-LABEL: @one_part
// CSE: %[[W:.*]] = tenon.with_split
// CSE-NEXT: return %[[W]], %[[W]]
func.func @one_part(%x: tensor<4x40xf32>, %h: tensor<4x40xf16>, %f: tensor<4x1xf32>) -> (tensor<4x40xf32>, tensor<4x40xf32>) {
  %0 = tenon.with_split %x, %h, %f : tensor<4x40xf32>, tensor<4x40xf16>, tensor<4x1xf32>
  %1 = tenon.with_split %x, %h, %f : tensor<4x40xf32>, tensor<4x40xf16>, tensor<4x1xf32>
  return %0, %1 : tensor<4x40xf32>, tensor<4x40xf32>
}

// Of the transpose of a matrix.
// CHECK-LABEL: @transposed
// CHECK: tenon.split %{{.*}} transposed : (tensor<40x4xf32>) -> (tensor<4x128xf16>, tensor<4x1xf32>)
// CHECK: tenon.with_split %{{.*}}, %{{.*}}, %{{.*}} transposed : tensor<40x4xf32>, tensor<4x128xf16>, tensor<4x1xf32>
// CPU-LABEL: @transposed
// CPU-NEXT: return
func.func @transposed(%x: tensor<40x4xf32>) -> tensor<40x4xf32> {
  %halves, %factors = tenon.split %x transposed : (tensor<40x4xf32>) -> (tensor<4x128xf16>, tensor<4x1xf32>)
  %0 = tenon.with_split %x, %halves, %factors transposed : tensor<40x4xf32>, tensor<4x128xf16>, tensor<4x1xf32>
  return %0 : tensor<40x4xf32>
}
