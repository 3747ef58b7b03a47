// RUN: tenon-opt %s --tenon-to-linalg --convert-elementwise-to-linalg --tenon-fuse-elementwise | FileCheck %s

// Ops of arith and math on tensors beside tenon's become one loop of their own,
// which is not repeated for every row.

// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]}
// CHECK: arith.addf
// CHECK: math.sqrt
// CHECK: arith.divf
// CHECK-NOT: linalg.generic
// CHECK: tensor.expand_shape
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]}
// CHECK: arith.mulf
func.func @f(%x: tensor<?x64xf32>, %v: tensor<64xf32>, %h: tensor<64xf16>) -> (tensor<?x64xf32>, tensor<64x1xf32>) {
  %eps = arith.constant dense<1.0e-5> : tensor<64xf32>
  %0 = arith.addf %v, %eps : tensor<64xf32>
  %1 = math.sqrt %0 : tensor<64xf32>
  %2 = arith.extf %h : tensor<64xf16> to tensor<64xf32>
  %3 = arith.divf %2, %1 : tensor<64xf32>
  %4 = tensor.expand_shape %3 [[0, 1]] output_shape [64, 1] : tensor<64xf32> into tensor<64x1xf32>
  %5 = tenon.mul %x, %3 : tensor<?x64xf32>, tensor<64xf32>
  return %5, %4 : tensor<?x64xf32>, tensor<64x1xf32>
}
