// Sums over the batch of what is stored, and of what is not, which asks for swapped operands of wgmma.
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_90a strategy=tiled" --remarks-filter=tenon-select-strategy 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY < %t.remarks

// CHECK-LABEL: @both
// CHECK: #tenon.schedule<wgmma, tile = {{.*}}, warps = 1x{{[48]}}, {{.*}}reduction = two_phase>
// WHY: Function=both | Reason="the product with sums over the batch; {{.*}}two_phase by direct {{[0-9.]+}} us;
func.func @both(%x: tensor<65536x512xbf16>, %w: tensor<512x256xbf16>, %h: tensor<65536x256xbf16>) -> (tensor<65536x256xbf16>, tensor<256xf32>, tensor<256xf32>) {
  %0 = tenon.linear %x, %w layout<mk_kn> : (tensor<65536x512xbf16>, tensor<512x256xbf16>) -> tensor<65536x256xbf16>
  %1 = tenon.gate %0, %h : tensor<65536x256xbf16>, tensor<65536x256xbf16>
  %2 = tenon.batch_sum %1 : (tensor<65536x256xbf16>) -> tensor<256xf32>
  %3 = tenon.mul %1, %h : tensor<65536x256xbf16>, tensor<65536x256xbf16>
  %4 = tenon.batch_sum %3 : (tensor<65536x256xbf16>) -> tensor<256xf32>
  return %1, %2, %4 : tensor<65536x256xbf16>, tensor<256xf32>, tensor<256xf32>
}
