// A resident batch norm of wgmma is chosen where its kernel has room for all [M, N] operands and results.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --remarks-filter=tenon-select-strategy 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY < %t.remarks
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a reduction=resident" --remarks-filter=tenon-select-strategy 2>&1 | FileCheck %s --check-prefix=ASKED
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --tenon-to-tiled --tenon-bufferize --tenon-emit-kernels -o /dev/null

// CHECK-LABEL: @no_room
// CHECK: #tenon.schedule<wgmma, {{.*}}reduction = two_phase>
// WHY: Reason="the product with moments for the batch norm; resident cannot be, since reduction = resident: TMA must be able to move all [M, N] operands and results, rows of multiples of 16 bytes of f32, f16 or bf16, and the tile has no room for so many;
// ASKED: resident cannot be, since reduction = resident: TMA must be able to move all
func.func @no_room(%x: tensor<512x4096xbf16>, %w: tensor<4096x4096xbf16>, %s: tensor<512x4096xbf16>) -> (tensor<512x4096xf32>, tensor<512x4096xf32>) {
  %0:2 = tenon.fused_linear %x, %w : tensor<512x4096xbf16>, tensor<4096x4096xbf16>
      epilogue(%acc: tensor<512x4096xf32>, %side = %s: tensor<512x4096xbf16>) -> (tensor<512x4096xf32>, tensor<512x4096xf32>) {
    %1 = tenon.batch_norm_training %acc : (tensor<512x4096xf32>) -> tensor<512x4096xf32>
    %2 = tenon.add %1, %side : tensor<512x4096xf32>, tensor<512x4096xbf16>
    tenon.yield %2, %1 : tensor<512x4096xf32>, tensor<512x4096xf32>
  }
  return %0#0, %0#1 : tensor<512x4096xf32>, tensor<512x4096xf32>
}

// Of 1024 rows there are tiles with swapped operands, which have room for as many.
// CHECK-LABEL: @swapped_has_room
// CHECK: #tenon.schedule<wgmma, {{.*}}warps = 1x8{{.*}}reduction = resident>
// WHY: resident by direct
func.func @swapped_has_room(%x: tensor<1024x4096xbf16>, %w: tensor<4096x4096xbf16>, %s: tensor<1024x4096xbf16>) -> (tensor<1024x4096xf32>, tensor<1024x4096xf32>) {
  %0:2 = tenon.fused_linear %x, %w : tensor<1024x4096xbf16>, tensor<4096x4096xbf16>
      epilogue(%acc: tensor<1024x4096xf32>, %side = %s: tensor<1024x4096xbf16>) -> (tensor<1024x4096xf32>, tensor<1024x4096xf32>) {
    %1 = tenon.batch_norm_training %acc : (tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
    %2 = tenon.add %1, %side : tensor<1024x4096xf32>, tensor<1024x4096xbf16>
    tenon.yield %2, %1 : tensor<1024x4096xf32>, tensor<1024x4096xf32>
  }
  return %0#0, %0#1 : tensor<1024x4096xf32>, tensor<1024x4096xf32>
}

// What only the batch norm reads is loaded by other ways, of any number.
// CHECK-LABEL: @read_before
// CHECK: #tenon.schedule<wgmma, {{.*}}reduction = resident>
// WHY: resident by direct
func.func @read_before(%x: tensor<512x4096xbf16>, %w: tensor<4096x4096xbf16>, %r: tensor<512x4096xf32>, %s: tensor<512x4096xbf16>) -> tensor<512x4096xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<512x4096xbf16>, tensor<4096x4096xbf16>
      epilogue(%acc: tensor<512x4096xf32>, %res = %r: tensor<512x4096xf32>, %side = %s: tensor<512x4096xbf16>) -> tensor<512x4096xf32> {
    %1 = tenon.add %acc, %res : tensor<512x4096xf32>, tensor<512x4096xf32>
    %2 = tenon.add %1, %side : tensor<512x4096xf32>, tensor<512x4096xbf16>
    %3 = tenon.batch_norm_training %2 : (tensor<512x4096xf32>) -> tensor<512x4096xf32>
    tenon.yield %3 : tensor<512x4096xf32>
  }
  return %0 : tensor<512x4096xf32>
}
