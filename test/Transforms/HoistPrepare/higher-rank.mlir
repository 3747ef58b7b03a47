// RUN: tenon-opt %s --tenon-hoist-prepare | FileCheck %s

// What functions cannot pass on stays; a matrix that is made of it moves, with a
// copy.

// CHECK-LABEL: func.func @f_prepare(
// CHECK-SAME: %[[P:[^:]*]]: tensor<2x3x8xf32> {tenon.param}) -> tensor<6x8xf32>
// CHECK: math.exp %[[P]]
// CHECK: %[[LOG:.*]] = math.log {{.*}} : tensor<6x8xf32>
// CHECK-NEXT: return %[[LOG]]

// CHECK-LABEL: func.func @f_run(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x3x8xf32>, %[[P:[^:]*]]: tensor<2x3x8xf32> {tenon.param}, %[[PREPARED:[^:]*]]: tensor<6x8xf32> {tenon.prepared = 0 : i64})
// CHECK: %[[EXP:.*]] = math.exp %[[P]]
// CHECK: arith.addf %[[X]], %[[EXP]]
// CHECK-NOT: math.log
// CHECK: arith.addf %[[PREPARED]],
func.func @f(%x: tensor<2x3x8xf32>, %p: tensor<2x3x8xf32> {tenon.param}) -> (tensor<2x3x8xf32>, tensor<6x8xf32>) {
  %0 = math.exp %p : tensor<2x3x8xf32>
  %1 = arith.addf %x, %0 : tensor<2x3x8xf32>
  %2 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x3x8xf32> into tensor<6x8xf32>
  %3 = math.log %2 : tensor<6x8xf32>
  %4 = tensor.collapse_shape %1 [[0, 1], [2]] : tensor<2x3x8xf32> into tensor<6x8xf32>
  %5 = arith.addf %3, %4 : tensor<6x8xf32>
  return %1, %5 : tensor<2x3x8xf32>, tensor<6x8xf32>
}

// What only what moves reads moves with it, whatever its rank.

// CHECK-LABEL: func.func @g_prepare(
// CHECK: math.exp
// CHECK: math.log
// CHECK-LABEL: func.func @g_run(
// CHECK-NOT: math.
func.func @g(%x: tensor<6x8xf32>, %p: tensor<2x3x8xf32> {tenon.param}) -> tensor<6x8xf32> {
  %0 = math.exp %p : tensor<2x3x8xf32>
  %1 = math.absf %0 : tensor<2x3x8xf32>
  %2 = tensor.extract_slice %1[0, 0, 0] [1, 3, 8] [1, 1, 1] : tensor<2x3x8xf32> to tensor<3x8xf32>
  %3 = math.log %2 : tensor<3x8xf32>
  %4 = tensor.insert_slice %3 into %x[0, 0] [3, 8] [1, 1] : tensor<3x8xf32> into tensor<6x8xf32>
  return %4 : tensor<6x8xf32>
}
