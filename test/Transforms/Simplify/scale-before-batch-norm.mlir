// RUN: tenon-opt %s --tenon-simplify | FileCheck %s --check-prefixes=CHECK,EXACT,KEPT
// RUN: tenon-opt %s --tenon-simplify --tenon-simplify | FileCheck %s --check-prefixes=CHECK,EXACT,KEPT
// RUN: tenon-opt %s --tenon-simplify=rescale-statistics | FileCheck %s --check-prefixes=CHECK,EXACT,RESCALED
// RUN: tenon-opt %s --tenon-simplify=rescale-statistics --tenon-simplify=rescale-statistics | FileCheck %s --check-prefixes=CHECK,EXACT,RESCALED
// RUN: tenon-opt %s --tenon-simplify="allow-rounding-changes rescale-statistics" | FileCheck %s --check-prefixes=CHECK,ALL,RESCALED
// RUN: tenon-opt %s --tenon-simplify="allow-rounding-changes rescale-statistics" --tenon-simplify="allow-rounding-changes rescale-statistics" | FileCheck %s --check-prefixes=CHECK,ALL,RESCALED

// eps becomes eps / 4.
// CHECK-LABEL: func.func @cancel_scale(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x8xf32>, %[[W:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT:    tenon.batch_norm_training %[[X]] weight(%[[W]]) {eps = 2.500000e-06 : f64}
// CHECK-NEXT:    return
func.func @cancel_scale(%x: tensor<?x8xf32>, %w: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.mul %x, 2.0 : tensor<?x8xf32>
  %1 = tenon.batch_norm_training %0 weight(%w) {eps = 1.0e-5} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// The sign goes into the weight.
// CHECK-LABEL: func.func @cancel_negative_scale(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x8xf32>, %[[W:[a-z0-9]+]]: tensor<8xf32>
// CHECK-NEXT:    %[[N:.*]] = tenon.mul %[[W]], -1.0
// CHECK-NEXT:    tenon.batch_norm_training %[[X]] weight(%[[N]]) bias(%[[W]]) {eps = 4.000000e-05 : f64}
func.func @cancel_negative_scale(%x: tensor<?x8xf32>, %w: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.mul %x, -0.5 : tensor<?x8xf32>
  %1 = tenon.batch_norm_training %0 weight(%w) bias(%w) : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// Running statistics are kept in the units of the scaled values.
// CHECK-LABEL: func.func @cancel_with_statistics(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x8xf32>, %[[M:[a-z0-9]+]]: tensor<8xf32>, %[[V:[a-z0-9]+]]: tensor<8xf32>
// KEPT-NEXT:     tenon.mul
// KEPT-NEXT:     tenon.batch_norm_training
// RESCALED-NEXT: %[[MS:.*]] = tenon.mul %[[M]], 5.000000e-01
// RESCALED-NEXT: %[[VS:.*]] = tenon.mul %[[V]], 2.500000e-01
// RESCALED-NEXT: %[[Y:.*]], %[[S:.*]]:2 = tenon.batch_norm_training %[[X]] running(%[[MS]], %[[VS]]) {eps = 2.500000e-06 : f64, momentum = 2.000000e-01 : f64}
// RESCALED-NEXT: %[[NM:.*]] = tenon.mul %[[S]]#0, 2.0
// RESCALED-NEXT: %[[NV:.*]] = tenon.mul %[[S]]#1, 4.0
// RESCALED-NEXT: return %[[Y]], %[[NM]], %[[NV]]
func.func @cancel_with_statistics(%x: tensor<?x8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = tenon.mul %x, 2.0 : tensor<?x8xf32>
  %1, %2, %3 = tenon.batch_norm_training %0 running(%m, %v) {momentum = 0.2}
      : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %1, %2, %3 : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @no_cancel_rounding(
// EXACT-NEXT:    tenon.mul
// EXACT-NEXT:    tenon.batch_norm_training
// ALL-NEXT:      tenon.div %{{.*}}, 3.0
// ALL-NEXT:      tenon.div %{{.*}}, 9.0
// ALL-NEXT:      tenon.batch_norm_training %{{.*}} {eps = 1.1111111111111112E-6 : f64}
// ALL-NEXT:      tenon.mul %{{.*}}, 3.0
// ALL-NEXT:      tenon.mul %{{.*}}, 9.0
func.func @no_cancel_rounding(%x: tensor<?x8xf32>, %m: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = tenon.mul %x, 3.0 : tensor<?x8xf32>
  %1, %2, %3 = tenon.batch_norm_training %0 running(%m, %m)
      : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %1, %2, %3 : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @no_cancel_negative_without_weight(
// CHECK-NEXT:    tenon.mul
// CHECK-NEXT:    tenon.batch_norm_training
func.func @no_cancel_negative_without_weight(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.mul %x, -2.0 : tensor<?x8xf32>
  %1 = tenon.batch_norm_training %0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// A scale of zero leaves the bias alone; eps / 0 is no eps.
// CHECK-LABEL: func.func @no_cancel_zero(
// CHECK-NEXT:    tenon.mul
// CHECK-NEXT:    tenon.batch_norm_training
func.func @no_cancel_zero(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.mul %x, 0.0 : tensor<?x8xf32>
  %1 = tenon.batch_norm_training %0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// eps / 2^120 is subnormal in f32.
// CHECK-LABEL: func.func @no_cancel_eps_underflow(
// CHECK-NEXT:    tenon.mul
// CHECK-NEXT:    tenon.batch_norm_training
func.func @no_cancel_eps_underflow(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.mul %x, 1.152921504606846976e+18 : tensor<?x8xf32>
  %1 = tenon.batch_norm_training %0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @no_cancel_multi_use(
// CHECK-NEXT:    tenon.mul
// CHECK-NEXT:    tenon.batch_norm_training
func.func @no_cancel_multi_use(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = tenon.mul %x, 2.0 : tensor<?x8xf32>
  %1 = tenon.batch_norm_training %0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// Inside a fused op nothing that reads no product may be written.
// CHECK-LABEL: func.func @no_cancel_in_epilogue(
// CHECK:           tenon.mul %acc, 2.0
func.func @no_cancel_in_epilogue(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<8x8xf32> epilogue(%acc: tensor<?x8xf32>) -> tensor<?x8xf32> {
    %1 = tenon.mul %acc, 2.0 : tensor<?x8xf32>
    %2 = tenon.batch_norm_training %1 : (tensor<?x8xf32>) -> tensor<?x8xf32>
    tenon.yield %2 : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}

// Saved ones too: the deviation scales by the factor's size.
// CHECK-LABEL: func.func @cancel_with_saved_statistics(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x8xf32>, %[[W:[a-z0-9]+]]: tensor<8xf32>
// KEPT-NEXT:     tenon.mul
// KEPT-NEXT:     tenon.batch_norm_training
// RESCALED-NEXT: %[[N:.*]] = tenon.mul %[[W]], -1.0
// RESCALED-NEXT: %[[Y:.*]], %[[S:.*]]:2 = tenon.batch_norm_training %[[X]] weight(%[[N]]) {eps = 2.500000e-06 : f64, save_statistics}
// RESCALED-NEXT: %[[M:.*]] = tenon.mul %[[S]]#0, -2.0
// RESCALED-NEXT: %[[D:.*]] = tenon.mul %[[S]]#1, 5.000000e-01
// RESCALED-NEXT: return %[[Y]], %[[M]], %[[D]]
func.func @cancel_with_saved_statistics(%x: tensor<?x8xf32>, %w: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = tenon.mul %x, -2.0 : tensor<?x8xf32>
  %1, %2, %3 = tenon.batch_norm_training %0 weight(%w) {save_statistics}
      : (tensor<?x8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %1, %2, %3 : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>
}

// A running variance of 1e3 over the square of the factor is none of f32.
// CHECK-LABEL: func.func @no_cancel_small(
// CHECK-NEXT:    tenon.mul
// CHECK-NEXT:    tenon.batch_norm_training
func.func @no_cancel_small(%x: tensor<?x8xf32>, %m: tensor<8xf32>, %v: tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = tenon.mul %x, 8.67361737988403547e-19 : tensor<?x8xf32>
  %1:3 = tenon.batch_norm_training %0 running(%m, %v) {momentum = 0.1, eps = 0.0} : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %1#0, %1#1, %1#2 : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>
}

// Statistics in f16 have no range to be rescaled in: 1000 / 0.0625^2 is inf.
// CHECK-LABEL: func.func @no_cancel_f16_statistics(
// CHECK-NEXT:    tenon.mul
// CHECK-NEXT:    tenon.batch_norm_training
func.func @no_cancel_f16_statistics(%x: tensor<?x8xf32>, %m: tensor<8xf16>, %v: tensor<8xf16>) -> (tensor<?x8xf32>, tensor<8xf16>, tensor<8xf16>) {
  %0 = tenon.mul %x, 0.0625 : tensor<?x8xf32>
  %1:3 = tenon.batch_norm_training %0 running(%m, %v) {momentum = 0.1} : (tensor<?x8xf32>, tensor<8xf16>, tensor<8xf16>) -> (tensor<?x8xf32>, tensor<8xf16>, tensor<8xf16>)
  return %1#0, %1#1, %1#2 : tensor<?x8xf32>, tensor<8xf16>, tensor<8xf16>
}
