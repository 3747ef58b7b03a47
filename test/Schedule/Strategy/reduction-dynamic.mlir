// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --remarks-filter=tenon-select-strategy 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY < %t.remarks
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled reduction=resident" --remarks-filter=tenon-select-strategy 2>%t.asked | FileCheck %s --check-prefix=ASKED
// RUN: FileCheck %s --check-prefix=ASKED-WHY < %t.asked
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_80 strategy=tiled reduction=resident" --remarks-filter=tenon-select-strategy 2>&1 | FileCheck %s --check-prefix=MMA --implicit-check-not='= resident>'

// What fits is known when the layer is called. Nothing was measured of that: it is there for whoever asks, by wgmma.
// CHECK: reduction = two_phase>
// WHY: Reason="the product with moments for the batch norm; two_phase by direct {{[0-9.]+}} us; resident was not measured with a dynamic M, so it is there for reduction=resident alone;
// ASKED: #tenon.schedule<wgmma, {{.*}}reduction = resident>
// ASKED-WHY: Reason="the batch norm too; resident by direct
// MMA: resident: M is dynamic, and all row tiles of kernels of mma_sync must fit the GPU
// MMA: reduction = two_phase>
func.func @dynamic(%x: tensor<?x512xbf16>, %w: tensor<2048x512xbf16>) -> tensor<?x2048xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<?x512xbf16>, tensor<2048x512xbf16>
      epilogue(%acc: tensor<?x2048xbf16>) -> tensor<?x2048xbf16> {
    %1 = tenon.batch_norm_training %acc : (tensor<?x2048xbf16>) -> tensor<?x2048xbf16>
    tenon.yield %1 : tensor<?x2048xbf16>
  }
  return %0 : tensor<?x2048xbf16>
}
