// RUN: tenon-opt %s --tenon-to-linalg | FileCheck %s

// A loop over each row that adds in f64, and one over the rows.
// CHECK-LABEL: @mean
// CHECK: linalg.fill
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK: arith.extf %{{.*}} : f16 to f64
// CHECK: arith.addf %{{.*}} : f64
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK: arith.divf %{{.*}} : f64
// CHECK-NOT: tenon
func.func @mean(%x: tensor<?x8xf16>) -> tensor<?x1xf16> {
  %0 = tenon.reduce_row mean %x : tensor<?x8xf16>
  return %0 : tensor<?x1xf16>
}

// A place is one of two results: the element, and its column.
// CHECK-LABEL: @place
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK: linalg.index 2
// CHECK: arith.cmpf ugt
// CHECK: linalg.yield %{{.*}}, %{{.*}} : f64, f64
// CHECK-NOT: tenon
func.func @place(%x: tensor<?x8xf16>) -> tensor<?x2xf32> {
  %0 = tenon.reduce_row argmax %x {groups = 2} : tensor<?x8xf16>
  return %0 : tensor<?x2xf32>
}
