// What a layer returns from before its training batch norm, as a training step does, costs no kernel of its own.
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_90a strategy=tiled" --remarks-filter=tenon-select-strategy 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY < %t.remarks

// The product, of which the norm's input follows by a scale: it is reduced, and held as it is returned.
// CHECK-LABEL: @product
// CHECK: #tenon.schedule<wgmma, tile = 256x128x64, warps = 1x8, {{.*}}defer = true, reduction = resident>
// WHY: Function=product | Reason="the batch norm too; resident by direct {{[0-9.]+}} us; two_phase by direct {{[0-9.]+}} us;
func.func @product(%x: tensor<16384x4096xbf16>, %w: tensor<4096x4096xbf16>, %b: tensor<4096xbf16>, %s: tensor<4096xbf16>) -> (tensor<16384x4096xbf16>, tensor<16384x4096xbf16>) {
  %0 = tenon.linear %x, %w, %b : (tensor<16384x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096xbf16>) -> tensor<16384x4096xbf16>
  %1 = tenon.mul %0, %s : tensor<16384x4096xbf16>, tensor<4096xbf16>
  %2 = tenon.batch_norm_training %1 : (tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16>
  return %0, %2 : tensor<16384x4096xbf16>, tensor<16384x4096xbf16>
}

// The norm's input, behind an activation.
// CHECK-LABEL: @input
// CHECK: reduction = resident>
func.func @input(%x: tensor<16384x4096xbf16>, %w: tensor<4096x4096xbf16>) -> (tensor<16384x4096xbf16>, tensor<16384x4096xbf16>) {
  %0 = tenon.linear %x, %w : (tensor<16384x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<16384x4096xbf16>
  %1 = tenon.relu %0 : tensor<16384x4096xbf16>
  %2 = tenon.batch_norm_training %1 : (tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16>
  return %1, %2 : tensor<16384x4096xbf16>, tensor<16384x4096xbf16>
}

// What is returned and what is reduced differ by more than a scale: one of them alone is kept.
// CHECK-LABEL: @other
// CHECK-NOT: reduction = resident
// WHY: Function=other | Reason="{{.*}}resident cannot be, since reduction = resident: result #0 is that of the product, before the batch norm, and only the norm's input is kept
func.func @other(%x: tensor<16384x4096xbf16>, %w: tensor<4096x4096xbf16>) -> (tensor<16384x4096xbf16>, tensor<16384x4096xbf16>) {
  %0 = tenon.linear %x, %w : (tensor<16384x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<16384x4096xbf16>
  %1 = tenon.relu %0 : tensor<16384x4096xbf16>
  %2 = tenon.batch_norm_training %1 : (tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16>
  return %0, %2 : tensor<16384x4096xbf16>, tensor<16384x4096xbf16>
}
