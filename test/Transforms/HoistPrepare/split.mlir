// What a parameter is split into is computed once a version of it; what stands beside it stays beside it.
// RUN: tenon-opt %s --tenon-hoist-prepare --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @layer_prepare(
// CHECK-SAME:    %[[W:.*]]: tensor<32x64xf32> {tenon.param}) -> (tensor<32x128xf16>, tensor<32x1xf32>) {
// CHECK-NEXT:    %[[S:.*]]:2 = tenon.split %[[W]]
// CHECK-NEXT:    return %[[S]]#0, %[[S]]#1
// CHECK:       func.func @layer_run(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x64xf32>, %[[W:[a-z0-9]+]]: tensor<32x64xf32> {tenon.param},
// CHECK-SAME:    %[[H:[a-z0-9]+]]: tensor<32x128xf16> {tenon.prepared = 0 : i64},
// CHECK-SAME:    %[[F:[a-z0-9]+]]: tensor<32x1xf32> {tenon.prepared = 1 : i64})
// CHECK-NEXT:    %[[XS:.*]]:2 = tenon.split %[[X]]
// CHECK-NEXT:    %[[XW:.*]] = tenon.with_split %[[X]], %[[XS]]#0, %[[XS]]#1
// CHECK-NEXT:    %[[WW:.*]] = tenon.with_split %[[W]], %[[H]], %[[F]]
// CHECK-NEXT:    tenon.linear %[[XW]], %[[WW]]
func.func @layer(%x: tensor<?x64xf32>, %w: tensor<32x64xf32> {tenon.param}) -> tensor<?x32xf32> {
  %0:2 = tenon.split %x : (tensor<?x64xf32>) -> (tensor<?x128xf16>, tensor<?x1xf32>)
  %1 = tenon.with_split %x, %0#0, %0#1 : tensor<?x64xf32>, tensor<?x128xf16>, tensor<?x1xf32>
  %2:2 = tenon.split %w : (tensor<32x64xf32>) -> (tensor<32x128xf16>, tensor<32x1xf32>)
  %3 = tenon.with_split %w, %2#0, %2#1 : tensor<32x64xf32>, tensor<32x128xf16>, tensor<32x1xf32>
  %4 = tenon.linear %1, %3 : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %4 : tensor<?x32xf32>
}

// -----

// A layer of parameters alone moves with all that it reads.
// CHECK-LABEL: func.func @parameters_prepare(
// CHECK-COUNT-2: tenon.split
// CHECK:         %[[Y:.*]] = tenon.linear
// CHECK-NEXT:    return %[[Y]] : tensor<8x32xf32>
// CHECK-LABEL: func.func @parameters_run(
// CHECK-NEXT:    tenon.add
// CHECK-NEXT:    return
func.func @parameters(%x: tensor<8x32xf32>, %v: tensor<8x64xf32> {tenon.param}, %w: tensor<32x64xf32> {tenon.param}) -> tensor<8x32xf32> {
  %0:2 = tenon.split %v : (tensor<8x64xf32>) -> (tensor<8x128xf16>, tensor<8x1xf32>)
  %1 = tenon.with_split %v, %0#0, %0#1 : tensor<8x64xf32>, tensor<8x128xf16>, tensor<8x1xf32>
  %2:2 = tenon.split %w : (tensor<32x64xf32>) -> (tensor<32x128xf16>, tensor<32x1xf32>)
  %3 = tenon.with_split %w, %2#0, %2#1 : tensor<32x64xf32>, tensor<32x128xf16>, tensor<32x1xf32>
  %4 = tenon.linear %1, %3 : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  %5 = tenon.add %x, %4 : tensor<8x32xf32>, tensor<8x32xf32>
  return %5 : tensor<8x32xf32>
}
