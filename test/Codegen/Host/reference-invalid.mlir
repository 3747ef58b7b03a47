// RUN: tenon-opt %s --tenon-reference --verify-diagnostics

func.func @split(%x: tensor<4x8xf32>) -> tensor<4x8xf16> {
  // expected-error @below {{has no float64 reference, since every bit of its results is that of f32; compile without --reference}}
  %0:2 = tenon.split %x : (tensor<4x8xf32>) -> (tensor<4x8xf16>, tensor<4x1xf32>)
  return %0#0 : tensor<4x8xf16>
}
