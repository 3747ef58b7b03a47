// Resident batch norm where sm_90a has a kernel of mma_sync, or none.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled" | FileCheck %s --check-prefix=AUTO --implicit-check-not='= resident'
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled reduction=resident" --remarks-filter=tenon-select-strategy 2>%t.remarks \
// RUN:   | FileCheck %s --check-prefix=ASKED
// RUN: FileCheck %s --check-prefix=WHY < %t.remarks

// TMA does not copy such rows. Resident kernels of mma_sync are for whoever asks.
// AUTO-LABEL: @ragged_k
// AUTO: #tenon.schedule<mma_sync, {{.*}}reduction = two_phase>
// ASKED-LABEL: @ragged_k
// ASKED: #tenon.schedule<mma_sync, {{.*}}reduction = resident>
// WHY: Function=ragged_k | Reason="the batch norm too; resident by direct
func.func @ragged_k(%x: tensor<1024x260xbf16>, %w: tensor<1024x260xbf16>) -> tensor<1024x1024xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<1024x260xbf16>, tensor<1024x260xbf16>
      epilogue(%acc: tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16> {
    %1 = tenon.relu %acc : tensor<1024x1024xbf16>
    %2 = tenon.batch_norm_training %1 : (tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    tenon.yield %2 : tensor<1024x1024xbf16>
  }
  return %0 : tensor<1024x1024xbf16>
}

// So short a K is not split: fma, which mma_sync's frame has.
// AUTO-LABEL: @short_k_fp32
// AUTO: method = fma{{.*}}reduction = two_phase>
// ASKED-LABEL: @short_k_fp32
// ASKED: method = fma{{.*}}reduction = resident>
func.func @short_k_fp32(%x: tensor<1024x40xf32>, %w: tensor<1024x40xf32>) -> tensor<1024x1024xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<1024x40xf32>, tensor<1024x40xf32>
      epilogue(%acc: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %1 = tenon.relu %acc : tensor<1024x1024xf32>
    %2 = tenon.batch_norm_training %1 : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    tenon.yield %2 : tensor<1024x1024xf32>
  }
  return %0 : tensor<1024x1024xf32>
}

// ASKED-LABEL: @split
// ASKED: method = fp16x3{{.*}}reduction = two_phase>
// WHY: Function=split | Reason="the product with moments for the batch norm; resident cannot be, since wgmma kernels that wait for other tiles multiply directly, not by method fp16x3; two_phase by fp16x3
func.func @split(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>
      epilogue(%acc: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %1 = tenon.batch_norm_training %acc : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    tenon.yield %1 : tensor<1024x1024xf32>
  }
  return %0 : tensor<1024x1024xf32>
}
