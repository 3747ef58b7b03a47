// RUN: tenon-compile %s --target=sm_80 --emit=ptx -o - | FileCheck %s

// A division that is written is rounded correctly; one that an activation is
// computed by is as exact as exp, and has no call for rare cases.

// CHECK-LABEL: .entry divide_
// CHECK-NOT: div.approx
// CHECK: div.rn.f32
// CHECK-NOT: div.approx
func.func @divide(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = tenon.div %x, %y : tensor<64x64xf32>, tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// CHECK-LABEL: .entry silu_
// CHECK-NOT: div.rn
// CHECK: div.approx.f32
// CHECK-NOT: div.rn
func.func @silu(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = tenon.silu %x : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// CHECK-LABEL: .entry mish_
// CHECK-NOT: div.rn
// CHECK: div.approx.f32
// CHECK-NOT: div.rn
func.func @mish(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = tenon.mish %x : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// CHECK-LABEL: .entry sigmoid_
// CHECK-NOT: {{(div|rcp).rn}}
// CHECK: rcp.approx.f32
// CHECK-NOT: {{(div|rcp).rn}}
func.func @sigmoid(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = tenon.sigmoid %x : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// A magnitude is one, however it is spelled.
// CHECK-LABEL: .entry magnitude_
// CHECK-NOT: max
// CHECK: abs.f32
// CHECK-NOT: max
func.func @magnitude(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = tenon.mul %x, -1.0 : tensor<64x64xf32>
  %1 = tenon.max %x, %0 : tensor<64x64xf32>, tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// What a kernel has found of a row divides once.
// CHECK-LABEL: .entry over_largest_
// CHECK: rcp.rn.f32
// CHECK-NOT: {{(div|rcp).rn.f32}}
// CHECK: .entry
func.func @over_largest(%x: tensor<64x512xf32>) -> tensor<64x512xf8E4M3FN> {
  %0 = tenon.reduce_row max %x : tensor<64x512xf32>
  %1 = tenon.div %x, %0 : tensor<64x512xf32>, tensor<64x1xf32>
  %2 = tenon.cast %1 : tensor<64x512xf32> -> tensor<64x512xf8E4M3FN>
  return %2 : tensor<64x512xf8E4M3FN>
}
