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
