// Two results and a sum of each, the gradients of a gated unit, do not spill: with operands swapped, where sums wait in
// registers, nor where they are of what is read back, one subtile at a time.
// REQUIRES: ptxas
// RUN: tenon-compile %s --target=sm_90a --strategy=tiled --emit=cubin -o %t.cubin \
// RUN:   --remarks-filter='tenon-kernels|tenon-select-strategy' 2>&1 | FileCheck %s --implicit-check-not=spills

// CHECK: operands swapped, ping_pong,
func.func @bf16(%x: tensor<8192x2048xbf16>, %w: tensor<2048x8192xbf16>, %g: tensor<8192x8192xbf16>,
                %v: tensor<8192x8192xbf16>)
    -> (tensor<8192x8192xbf16>, tensor<8192x8192xbf16>, tensor<8192xbf16>, tensor<8192xbf16>) {
  %0 = tenon.linear %x, %w layout<mk_kn> : (tensor<8192x2048xbf16>, tensor<2048x8192xbf16>) -> tensor<8192x8192xbf16>
  %1 = tenon.gelu %g : tensor<8192x8192xbf16>
  %2 = tenon.mul %0, %1 : tensor<8192x8192xbf16>, tensor<8192x8192xbf16>
  %3 = tenon.gelu_derivative %g : tensor<8192x8192xbf16>
  %4 = tenon.mul %0, %v : tensor<8192x8192xbf16>, tensor<8192x8192xbf16>
  %5 = tenon.mul %4, %3 : tensor<8192x8192xbf16>, tensor<8192x8192xbf16>
  %6 = tenon.batch_sum %2 : (tensor<8192x8192xbf16>) -> tensor<8192xbf16>
  %7 = tenon.batch_sum %5 : (tensor<8192x8192xbf16>) -> tensor<8192xbf16>
  return %2, %5, %6, %7 : tensor<8192x8192xbf16>, tensor<8192x8192xbf16>, tensor<8192xbf16>, tensor<8192xbf16>
}

// CHECK: tiles of 128x256x64 by 8 warps, clusters
func.func @tf32(%x: tensor<8192x768xf32>, %w: tensor<768x3072xf32>, %g: tensor<8192x3072xf32>,
                %v: tensor<8192x3072xf32>)
    -> (tensor<8192x3072xf32>, tensor<8192x3072xf32>, tensor<3072xf32>, tensor<3072xf32>) {
  %0 = tenon.linear %x, %w precision<tf32> layout<mk_kn> : (tensor<8192x768xf32>, tensor<768x3072xf32>) -> tensor<8192x3072xf32>
  %1 = tenon.gelu %g : tensor<8192x3072xf32>
  %2 = tenon.mul %0, %1 : tensor<8192x3072xf32>, tensor<8192x3072xf32>
  %3 = tenon.gelu_derivative %g : tensor<8192x3072xf32>
  %4 = tenon.mul %0, %v : tensor<8192x3072xf32>, tensor<8192x3072xf32>
  %5 = tenon.mul %4, %3 : tensor<8192x3072xf32>, tensor<8192x3072xf32>
  %6 = tenon.batch_sum %2 : (tensor<8192x3072xf32>) -> tensor<3072xf32>
  %7 = tenon.batch_sum %5 : (tensor<8192x3072xf32>) -> tensor<3072xf32>
  return %2, %5, %6, %7 : tensor<8192x3072xf32>, tensor<8192x3072xf32>, tensor<3072xf32>, tensor<3072xf32>
}
