// RUN: tenon-opt %s --tenon-reference | FileCheck %s

// CHECK-LABEL: func.func @f_reference(
// CHECK-SAME:    %[[X:.*]]: tensor<?x64xbf16>, %[[W:.*]]: tensor<32x64xbf16> {tenon.param}, %[[B:.*]]: tensor<32xbf16>) -> tensor<?x32xf64>
// CHECK-DAG:     %[[XD:.*]] = arith.extf %[[X]] : tensor<?x64xbf16> to tensor<?x64xf64>
// CHECK-DAG:     %[[WD:.*]] = arith.extf %[[W]] : tensor<32x64xbf16> to tensor<32x64xf64>
// CHECK:         %[[S:.*]] = arith.constant dense<5.000000e-01> : tensor<32xf64>
// CHECK:         tenon.linear %[[XD]], %[[WD]], %{{.*}} : (tensor<?x64xf64>, tensor<32x64xf64>, tensor<32xf64>) -> tensor<?x32xf64>
// CHECK:         tenon.mul %{{.*}}, %[[S]] : tensor<?x32xf64>, tensor<32xf64>
func.func @f(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16> {tenon.param}, %b: tensor<32xbf16>) -> tensor<?x32xbf16> {
  %s = arith.constant dense<0.5> : tensor<32xbf16>
  %0 = tenon.linear %x, %w, %b : (tensor<?x64xbf16>, tensor<32x64xbf16>, tensor<32xbf16>) -> tensor<?x32xbf16>
  %1 = tenon.mul %0, %s : tensor<?x32xbf16>, tensor<32xbf16>
  return %1 : tensor<?x32xbf16>
}

// Precision is a contract that f64 satisfies; regions are widened too.
// CHECK-LABEL: func.func @fused_reference(
// CHECK:         tenon.fused_linear %{{.*}}, %{{.*}} : tensor<4x8xf64>, tensor<16x8xf64> epilogue(%[[ACC:.*]]: tensor<4x16xf64>) -> tensor<4x16xf64>
// CHECK-NEXT:    tenon.relu %[[ACC]] : tensor<4x16xf64>
func.func @fused(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %0 = tenon.fused_linear %x, %w precision<tf32> : tensor<4x8xf32>, tensor<16x8xf32>
      epilogue(%acc: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %1 = tenon.relu %acc : tensor<4x16xf32>
    tenon.yield %1 : tensor<4x16xf32>
  }
  return %0 : tensor<4x16xf32>
}

// A cast is nothing in exact arithmetic, in a region or outside.
// CHECK-LABEL: func.func @cast_reference(
// CHECK-NOT:     tenon.cast
// CHECK:         %[[XD:.*]] = arith.extf
// CHECK:         tenon.fused_linear %[[XD]],
// CHECK-SAME:      epilogue(%[[ACC:.*]]: tensor<4x16xf64>)
// CHECK-NEXT:      tenon.yield %[[ACC]] : tensor<4x16xf64>
func.func @cast(%x: tensor<4x8xf32>, %w: tensor<16x8xbf16>) -> tensor<4x16xf32> {
  %0 = tenon.cast %x : tensor<4x8xf32> -> tensor<4x8xbf16>
  %1 = tenon.fused_linear %0, %w : tensor<4x8xbf16>, tensor<16x8xbf16>
      epilogue(%acc: tensor<4x16xbf16>) -> tensor<4x16xf32> {
    %2 = tenon.cast %acc : tensor<4x16xbf16> -> tensor<4x16xf32>
    tenon.yield %2 : tensor<4x16xf32>
  }
  return %1 : tensor<4x16xf32>
}

// CHECK-LABEL: func.func @round_tf32_reference(
// CHECK-NOT:     tenon.round_tf32
// CHECK:         %[[XD:.*]] = arith.extf
// CHECK:         return %[[XD]] : tensor<8xf64>
func.func @round_tf32(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tenon.round_tf32 %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Of arith's conversions there is nothing left either.
// CHECK-LABEL: func.func @conversions_reference(
// CHECK-NOT:     arith.truncf
// CHECK:         tenon.relu %{{.*}} : tensor<4x8xf64>
func.func @conversions(%x: tensor<4x8xf64>) -> tensor<4x8xf32> {
  %0 = arith.truncf %x : tensor<4x8xf64> to tensor<4x8xf16>
  %1 = tenon.relu %0 : tensor<4x8xf16>
  %2 = arith.extf %1 : tensor<4x8xf16> to tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
