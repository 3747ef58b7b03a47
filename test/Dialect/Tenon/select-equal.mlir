// RUN: tenon-opt %s --split-input-file --verify-diagnostics | tenon-opt --split-input-file | FileCheck %s

// CHECK-LABEL: @gather
// CHECK: tenon.select_equal %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<64xf32>, tensor<?x1xf32>
func.func @gather(%x: tensor<?x64xbf16>, %numbers: tensor<64xf32>, %index: tensor<?x1xf32>) -> tensor<?x64xbf16> {
  %0 = tenon.select_equal %x, %numbers, %index : tensor<?x64xbf16>, tensor<64xf32>, tensor<?x1xf32>
  return %0 : tensor<?x64xbf16>
}

// -----

// select_equal-C1
func.func @shape(%x: tensor<?x1xf32>, %numbers: tensor<64xf32>, %index: tensor<?x1xf32>) -> tensor<?x1xf32> {
  // expected-error @below {{compares what broadcasts to its input's shape, but that is 'tensor<?x1xf32>', and it is given 'tensor<64xf32>'}}
  %0 = tenon.select_equal %x, %numbers, %index : tensor<?x1xf32>, tensor<64xf32>, tensor<?x1xf32>
  return %0 : tensor<?x1xf32>
}

// -----

// select_equal-C2
func.func @wide(%x: tensor<4x64xf64>, %numbers: tensor<64xf64>, %index: tensor<4x1xf32>) -> tensor<4x64xf64> {
  // expected-error @below {{mixes f64 with another element type: 'tensor<4x64xf64>' and 'tensor<4x1xf32>'}}
  %0 = tenon.select_equal %x, %numbers, %index : tensor<4x64xf64>, tensor<64xf64>, tensor<4x1xf32>
  return %0 : tensor<4x64xf64>
}
