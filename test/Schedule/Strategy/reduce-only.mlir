// How layers are computed that give but values of rows that are wider than a tile.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --remarks-filter=tenon-select-strategy 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY < %t.remarks
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_86 strategy=tiled" | FileCheck %s --check-prefix=MMA
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled reduction=separate" 2>/dev/null | FileCheck %s --check-prefix=SEPARATE --implicit-check-not=reduce_only

// A maximum, and the sum of what is relative to it.
// CHECK-LABEL: @logsumexp
// CHECK: #tenon.schedule<wgmma, tile = {{[0-9]+}}x{{64|128|256}}x64, {{.*}}reduction = reduce_only>
// WHY: Function=logsumexp | Reason="rows reduced by parts, of tiles, and then these; {{.*}}Remark="tiled:
// MMA-LABEL: @logsumexp
// MMA: #tenon.schedule<mma_sync, {{.*}}reduction = reduce_only>
// SEPARATE-LABEL: @logsumexp
func.func @logsumexp(%x: tensor<1024x8192xbf16>, %w: tensor<8192x8192xbf16>) -> tensor<1024x1xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<1024x8192xbf16>, tensor<8192x8192xbf16>
      epilogue(%acc: tensor<1024x8192xbf16>) -> tensor<1024x1xf32> {
    %z = tenon.cast %acc : tensor<1024x8192xbf16> -> tensor<1024x8192xf32>
    %1 = tenon.reduce_row max %z : tensor<1024x8192xf32>
    %2 = tenon.sub %z, %1 : tensor<1024x8192xf32>, tensor<1024x1xf32>
    %3 = tenon.exp %2 : tensor<1024x8192xf32>
    %4 = tenon.reduce_row sum %3 : tensor<1024x8192xf32>
    %5 = tenon.log %4 : tensor<1024x1xf32>
    %6 = tenon.add %5, %1 : tensor<1024x1xf32>, tensor<1024x1xf32>
    tenon.yield %6 : tensor<1024x1xf32>
  }
  return %0 : tensor<1024x1xf32>
}

// The layer's other result has all columns.
// CHECK-LABEL: @softmax
// CHECK-NOT: reduce_only
// CHECK: return
// MMA-LABEL: @softmax
// MMA-NOT: reduce_only
// MMA: return
func.func @softmax(%x: tensor<1024x1024xbf16>, %w: tensor<8192x1024xbf16>) -> tensor<1024x8192xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<1024x1024xbf16>, tensor<8192x1024xbf16>
      epilogue(%acc: tensor<1024x8192xbf16>) -> tensor<1024x8192xbf16> {
    %1 = tenon.reduce_row max %acc : tensor<1024x8192xbf16>
    %2 = tenon.sub %acc, %1 : tensor<1024x8192xbf16>, tensor<1024x1xbf16>
    tenon.yield %2 : tensor<1024x8192xbf16>
  }
  return %0 : tensor<1024x8192xbf16>
}

// Squares of distances from the mean follow from no parts that are reduced alone.
// CHECK-LABEL: @variance
// CHECK-NOT: reduce_only
// CHECK: return
// MMA-LABEL: @variance
// MMA-NOT: reduce_only
// MMA: return
func.func @variance(%x: tensor<1024x1024xf16>, %w: tensor<8192x1024xf16>) -> tensor<1024x1xf16> {
  %0 = tenon.fused_linear %x, %w : tensor<1024x1024xf16>, tensor<8192x1024xf16>
      epilogue(%acc: tensor<1024x8192xf16>) -> tensor<1024x1xf16> {
    %1 = tenon.reduce_row mean %acc : tensor<1024x8192xf16>
    %2 = tenon.sub %acc, %1 : tensor<1024x8192xf16>, tensor<1024x1xf16>
    %3 = tenon.mul %2, %2 : tensor<1024x8192xf16>, tensor<1024x8192xf16>
    %4 = tenon.reduce_row mean %3 : tensor<1024x8192xf16>
    tenon.yield %4 : tensor<1024x1xf16>
  }
  return %0 : tensor<1024x1xf16>
}
