// RUN: tenon-opt %s --tenon-simplify=allow-rounding-changes | FileCheck %s
// RUN: tenon-opt %s --tenon-simplify=allow-rounding-changes --tenon-simplify=allow-rounding-changes | FileCheck %s
// RUN: tenon-opt %s --tenon-simplify | FileCheck %s --check-prefix=OFF
// RUN: tenon-opt %s --tenon-simplify --tenon-simplify | FileCheck %s --check-prefix=OFF

// OFF-LABEL:   func.func @cancel_linear_bias(
// OFF-NEXT:      tenon.linear %{{.*}}, %{{.*}}, %{{.*}} :
// CHECK-LABEL: func.func @cancel_linear_bias(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x16xf32>, %[[W:[a-z0-9]+]]: tensor<8x16xf32>
// CHECK-NEXT:    %[[L:.*]] = tenon.linear %[[X]], %[[W]] :
// CHECK-NEXT:    tenon.batch_norm_training %[[L]] :
func.func @cancel_linear_bias(%x: tensor<?x16xf32>, %w: tensor<8x16xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.linear %x, %w, %b : (tensor<?x16xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %1 = tenon.batch_norm_training %0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// The running mean moves by momentum times the bias; the variance stays.
// CHECK-LABEL: func.func @cancel_added_bias(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x8xf32>, %[[B:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT:    %[[Y:.*]], %[[S:.*]]:2 = tenon.batch_norm_training %[[X]] running(
// CHECK-NEXT:    %[[D:.*]] = tenon.mul %[[B]], 2.000000e-01
// CHECK-NEXT:    %[[M:.*]] = tenon.add %[[S]]#0, %[[D]]
// CHECK-NEXT:    return %[[Y]], %[[M]], %[[S]]#1
func.func @cancel_added_bias(%x: tensor<?x8xf32>, %b: tensor<8xf32>, %m: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = tenon.add %b, %x : tensor<8xf32>, tensor<?x8xf32>
  %1, %2, %3 = tenon.batch_norm_training %0 running(%m, %m) {momentum = 0.2}
      : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %1, %2, %3 : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @no_cancel_residual(
// CHECK-NEXT:    tenon.add
func.func @no_cancel_residual(%x: tensor<?x8xf32>, %r: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.add %x, %r : tensor<?x8xf32>, tensor<?x8xf32>
  %1 = tenon.batch_norm_training %0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// One value a row is no bias.
// CHECK-LABEL: func.func @no_cancel_column(
// CHECK-NEXT:    tenon.add
func.func @no_cancel_column(%x: tensor<8x8xf32>, %c: tensor<8x1xf32>) -> tensor<8x8xf32> {
  %0 = tenon.add %x, %c : tensor<8x8xf32>, tensor<8x1xf32>
  %1 = tenon.batch_norm_training %0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @no_cancel_multi_use(
// CHECK-NEXT:    tenon.linear %{{.*}}, %{{.*}}, %{{.*}} :
func.func @no_cancel_multi_use(%x: tensor<?x16xf32>, %w: tensor<8x16xf32>, %b: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = tenon.linear %x, %w, %b : (tensor<?x16xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %1 = tenon.batch_norm_training %0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// The saved mean moves by the bias itself, and the inverse deviation stays.
// CHECK-LABEL: func.func @cancel_with_saved_statistics(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x8xbf16>, %[[B:[a-z0-9]+]]: tensor<8xbf16>, %[[R:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT:    %[[Y:.*]], %[[S:.*]]:4 = tenon.batch_norm_training %[[X]] running(%[[R]], %[[R]]) {momentum = 2.000000e-01 : f64, save_statistics}
// CHECK-DAG:     %[[D:.*]] = tenon.mul %[[B]], 2.000000e-01
// CHECK-DAG:     %[[M:.*]] = tenon.add %[[S]]#0, %[[D]]
// CHECK-DAG:     %[[P:.*]] = tenon.add %[[S]]#2, %[[B]]
// CHECK:         return %[[Y]], %[[M]], %[[S]]#1, %[[P]], %[[S]]#3
func.func @cancel_with_saved_statistics(%x: tensor<?x8xbf16>, %b: tensor<8xbf16>, %r: tensor<8xf32>) -> (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = tenon.add %x, %b : tensor<?x8xbf16>, tensor<8xbf16>
  %1:5 = tenon.batch_norm_training %0 running(%r, %r) {momentum = 0.2, save_statistics}
      : (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %1#0, %1#1, %1#2, %1#3, %1#4 : tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// Moments are of what has the bias.
// CHECK-LABEL: func.func @no_cancel_before_moments(
// CHECK-NEXT:    tenon.add
func.func @no_cancel_before_moments(%x: tensor<?x8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = tenon.add %x, %b : tensor<?x8xf32>, tensor<8xf32>
  %1, %2 = tenon.batch_moments %0 : (tensor<?x8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %1, %2 : tensor<8xf32>, tensor<8xf32>
}

// f16 holds 70000 - 10000, but not 70000.
// CHECK-LABEL: func.func @no_cancel_f16_bias(
// CHECK:         tenon.linear %{{.*}}, %{{.*}}, %{{.*}} :
func.func @no_cancel_f16_bias(%x: tensor<?x16xf16>, %w: tensor<8x16xf16>, %b: tensor<8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.linear %x, %w, %b : (tensor<?x16xf16>, tensor<8x16xf16>, tensor<8xf16>) -> tensor<?x8xf16>
  %1 = tenon.batch_norm_training %0 : (tensor<?x8xf16>) -> tensor<?x8xf16>
  return %1 : tensor<?x8xf16>
}
