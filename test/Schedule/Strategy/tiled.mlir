// Which layers are tiled, and what their operands become.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_80 strategy=tiled" --split-input-file | FileCheck %s
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_80 strategy=tiled" --split-input-file \
// RUN:   --remarks-filter=tenon-select-strategy --verify-diagnostics -o /dev/null
// Run again, the pass changes nothing.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_80 strategy=tiled" --split-input-file -o %t.once
// RUN: tenon-opt %t.once --tenon-select-strategy="targets=sm_80" --split-input-file | diff %t.once -

// CHECK-LABEL: @f16
// CHECK-NOT: tenon.cast
// CHECK: tenon.linear %{{.*}} {schedule = #tenon.schedule<mma_sync, tile = 128x256x64, warps = 2x4, stages = 3, swizzle = 128, raster = 16, blocks = 1, stream_k = true>, strategy = #tenon.strategy<tiled>}
func.func @f16(%x: tensor<1024x8192xf16>, %w: tensor<8192x8192xf16>) -> tensor<1024x8192xf16> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w : (tensor<1024x8192xf16>, tensor<8192x8192xf16>) -> tensor<1024x8192xf16>
  return %0 : tensor<1024x8192xf16>
}

// -----

// Rows of K that are not multiples of 16 bytes, or N not one of 4: accumulators leave registers for what these take.
// CHECK-LABEL: @registers_for_n_of_4
// CHECK: tile = 128x256x64, warps = 2x4,
func.func @registers_for_n_of_4(%x: tensor<4096x4104xbf16>, %w: tensor<4092x4104xbf16>) -> tensor<4096x4092xbf16> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w : (tensor<4096x4104xbf16>, tensor<4092x4104xbf16>) -> tensor<4096x4092xbf16>
  return %0 : tensor<4096x4092xbf16>
}

// -----

// CHECK-LABEL: @few_registers_for_k
// CHECK: tile = 128x128x64, warps = 2x4,
func.func @few_registers_for_k(%x: tensor<4096x4100xbf16>, %w: tensor<4092x4100xbf16>) -> tensor<4096x4092xbf16> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w : (tensor<4096x4100xbf16>, tensor<4092x4100xbf16>) -> tensor<4096x4092xbf16>
  return %0 : tensor<4096x4092xbf16>
}

// -----

// CHECK-LABEL: @few_registers_for_n
// CHECK: tile = 128x128x64, warps = 2x4,
func.func @few_registers_for_n(%x: tensor<4096x4104xbf16>, %w: tensor<4090x4104xbf16>) -> tensor<4096x4090xbf16> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w : (tensor<4096x4104xbf16>, tensor<4090x4104xbf16>) -> tensor<4096x4090xbf16>
  return %0 : tensor<4096x4090xbf16>
}

// -----

// f32 is multiplied as tf32 here, since no split has so many columns.
// CHECK-LABEL: @registers_for_k_of_4_words
// CHECK: tile = 128x256x32, warps = 2x4,
func.func @registers_for_k_of_4_words(%x: tensor<4096x33554436xf32>, %w: tensor<4096x33554436xf32>) -> tensor<4096x4096xf32> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w precision<tf32> : (tensor<4096x33554436xf32>, tensor<4096x33554436xf32>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}

// -----

// CHECK-LABEL: @few_registers_for_k_of_2_words
// CHECK: tile = 128x128x32, warps = 2x4,
func.func @few_registers_for_k_of_2_words(%x: tensor<4096x33554438xf32>, %w: tensor<4096x33554438xf32>) -> tensor<4096x4096xf32> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w precision<tf32> : (tensor<4096x33554438xf32>, tensor<4096x33554438xf32>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}

// -----

// CHECK-LABEL: @bf16_to_f32
// CHECK: tenon.fused_linear {{.*}} -> tensor<?x32xf32> attributes {{.*}}#tenon.strategy<tiled>
func.func @bf16_to_f32(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<?x32xf32>, %b_ = %b: tensor<32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.add %acc, %b_ : tensor<?x32xf32>, tensor<32xf32>
    tenon.yield %1 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// Both operands are rounded, and the contract stays. So small a layer is not worth the kernels that a split takes.
// CHECK-LABEL: @tf32
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xf32>, %[[W:.*]]: tensor<32x64xf32>)
// CHECK-NEXT: %[[XR:.*]] = tenon.round_tf32 %[[X]] : tensor<?x64xf32>
// CHECK-NEXT: %[[WR:.*]] = tenon.round_tf32 %[[W]] : tensor<32x64xf32>
// CHECK-NEXT: tenon.linear %[[XR]], %[[WR]] precision<tf32> {schedule = #tenon.schedule<mma_sync, tile = {{[0-9]+x[0-9]+}}x32,
func.func @tf32(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w precision<tf32> : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

// What is rounded already is not rounded twice: by an op, or at the end of another layer's epilogue.
// CHECK-LABEL: @tf32_rounded
// CHECK-COUNT-4: tenon.round_tf32
// CHECK-NOT: tenon.round_tf32
// CHECK: tenon.linear %{{.*}}#1, %{{.*}} precision<tf32>
// CHECK-NOT: tenon.round_tf32
// CHECK: return
func.func @tf32_rounded(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %v: tensor<16x32xf32>) -> (tensor<?x32xf32>, tensor<?x16xf32>) {
  %0 = tenon.round_tf32 %x : tensor<?x64xf32>
  %1 = tenon.round_tf32 %w : tensor<32x64xf32>
  // expected-remark @below {{library: written on the layer}}
  %2:2 = tenon.fused_linear %0, %1 precision<tf32> : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) attributes {strategy = #tenon.strategy<library>} {
    %5 = tenon.round_tf32 %acc : tensor<?x32xf32>
    tenon.yield %acc, %5 : tensor<?x32xf32>, tensor<?x32xf32>
  }
  %3 = tenon.round_tf32 %v : tensor<16x32xf32>
  // expected-remark @below {{tiled: strategy=tiled}}
  %4 = tenon.linear %2#1, %3 precision<tf32> : (tensor<?x32xf32>, tensor<16x32xf32>) -> tensor<?x16xf32>
  return %2#0, %4 : tensor<?x32xf32>, tensor<?x16xf32>
}

// -----

// Another result of that epilogue is not rounded.
// CHECK-LABEL: @tf32_other_result
// CHECK: %[[Y:.*]]:2 = tenon.fused_linear
// CHECK: %[[R:.*]] = tenon.round_tf32 %[[Y]]#0
// CHECK: tenon.linear %[[R]], %{{.*}} precision<tf32>
func.func @tf32_other_result(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %v: tensor<16x32xf32>) -> (tensor<?x32xf32>, tensor<?x16xf32>) {
  // expected-remark @below {{library: written on the layer}}
  %0:2 = tenon.fused_linear %x, %w precision<tf32> : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) attributes {strategy = #tenon.strategy<library>} {
    %2 = tenon.round_tf32 %acc : tensor<?x32xf32>
    tenon.yield %acc, %2 : tensor<?x32xf32>, tensor<?x32xf32>
  }
  // expected-remark @below {{tiled: strategy=tiled}}
  %1 = tenon.linear %0#0, %v precision<tf32> : (tensor<?x32xf32>, tensor<16x32xf32>) -> tensor<?x16xf32>
  return %0#1, %1 : tensor<?x32xf32>, tensor<?x16xf32>
}

// -----

// Both operands are cast; the product and the bias stay f32, and the contract goes.
// CHECK-LABEL: @precision_bf16
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xf32>, %[[W:.*]]: tensor<32x64xf32>, %[[B:.*]]: tensor<32xf32>)
// CHECK-NEXT: %[[XC:.*]] = tenon.cast %[[X]] : tensor<?x64xf32> -> tensor<?x64xbf16>
// CHECK-NEXT: %[[WC:.*]] = tenon.cast %[[W]] : tensor<32x64xf32> -> tensor<32x64xbf16>
// CHECK-NEXT: tenon.linear %[[XC]], %[[WC]], %[[B]] {
// CHECK-SAME: (tensor<?x64xbf16>, tensor<32x64xbf16>, tensor<32xf32>) -> tensor<?x32xf32>
func.func @precision_bf16(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w, %b precision<bf16> : (tensor<?x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

// CHECK-LABEL: @precision_fp16
// CHECK: tenon.cast %{{.*}} : tensor<?x64xf32> -> tensor<?x64xf16>
// CHECK: tenon.fused_linear %{{.*}} : tensor<?x64xf16>, tensor<32x64xf16> epilogue(%{{.*}}: tensor<?x32xf32>) -> tensor<?x32xf32> attributes
func.func @precision_fp16(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.fused_linear %x, %w precision<fp16> : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.relu %acc : tensor<?x32xf32>
    tenon.yield %1 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// Layers that share an operand share its cast, or its rounding.
// CHECK-LABEL: @shared_operands
// CHECK-SAME: (%[[X:.*]]: tensor<?x64xf32>, %[[W:.*]]: tensor<32x64xf32>)
// CHECK-NEXT: %[[XC:.*]] = tenon.cast %[[X]]
// CHECK-NEXT: %[[WC:.*]] = tenon.cast %[[W]]
// CHECK-NEXT: tenon.linear %[[XC]], %[[WC]] {
// CHECK-NEXT: tenon.linear %[[XC]], %[[WC]] {
// CHECK-NEXT: %[[XR:.*]] = tenon.round_tf32 %[[X]]
// CHECK-NEXT: %[[WR:.*]] = tenon.round_tf32 %[[W]]
// CHECK-NEXT: tenon.linear %[[XR]], %[[WR]] precision<tf32>
// CHECK-NEXT: tenon.linear %[[XR]], %[[WR]] precision<tf32>
// Another type is another cast.
// CHECK-NEXT: tenon.cast %[[X]] : tensor<?x64xf32> -> tensor<?x64xf16>
func.func @shared_operands(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w precision<bf16> : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  // expected-remark @below {{tiled: strategy=tiled}}
  %1 = tenon.linear %x, %w precision<bf16> : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  // expected-remark @below {{tiled: strategy=tiled}}
  %2 = tenon.linear %x, %w precision<tf32> : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  // expected-remark @below {{tiled: strategy=tiled}}
  %3 = tenon.linear %x, %w precision<tf32> : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  // expected-remark @below {{tiled: strategy=tiled}}
  %4 = tenon.linear %x, %w precision<fp16> : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return
}

// -----

// Any extents will do.
// CHECK-LABEL: @ragged
// CHECK: #tenon.strategy<tiled>
func.func @ragged(%x: tensor<129x97xf16>, %w: tensor<33x97xf16>) -> tensor<129x33xf16> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.linear %x, %w : (tensor<129x97xf16>, tensor<33x97xf16>) -> tensor<129x33xf16>
  return %0 : tensor<129x33xf16>
}

// -----

// One row takes the smallest tile.
// CHECK-LABEL: @one_row
// CHECK: tile = 16x128x64{{.*}}stream_k = true>, strategy = #tenon.strategy<tiled>
func.func @one_row(%x: tensor<1x4096xf16>, %w: tensor<4096x4096xf16>, %b: tensor<4096xf16>) -> tensor<1x4096xf16> {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0 = tenon.fused_linear %x, %w : tensor<1x4096xf16>, tensor<4096x4096xf16>
      epilogue(%acc: tensor<1x4096xf16>, %b_ = %b: tensor<4096xf16>) -> tensor<1x4096xf16> {
    %1 = tenon.add %acc, %b_ : tensor<1x4096xf16>, tensor<4096xf16>
    tenon.yield %1 : tensor<1x4096xf16>
  }
  return %0 : tensor<1x4096xf16>
}

// -----

// A result of one value a feature is no row of the product, though there is but one.
// CHECK-LABEL: @no_tiled_one_row_features
// CHECK: #tenon.strategy<library>
func.func @no_tiled_one_row_features(%x: tensor<1x4096xf16>, %w: tensor<4096x4096xf16>, %b: tensor<4096xf16>) -> (tensor<1x4096xf16>, tensor<4096xf16>) {
  // expected-remark @below {{result #1 is not of the product's shape}}
  %0:2 = tenon.fused_linear %x, %w : tensor<1x4096xf16>, tensor<4096x4096xf16>
      epilogue(%acc: tensor<1x4096xf16>, %b_ = %b: tensor<4096xf16>) -> (tensor<1x4096xf16>, tensor<4096xf16>) {
    %1 = tenon.relu %acc : tensor<1x4096xf16>
    %2 = tenon.relu %b_ : tensor<4096xf16>
    tenon.yield %1, %2 : tensor<1x4096xf16>, tensor<4096xf16>
  }
  return %0#0, %0#1 : tensor<1x4096xf16>, tensor<4096xf16>
}

// -----

// Several results and any elementwise epilogue.
// CHECK-LABEL: @several_results
// CHECK: #tenon.strategy<tiled>
func.func @several_results(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %r: tensor<?x1xf32>) -> (tensor<?x32xf16>, tensor<?x32xf32>) {
  // expected-remark @below {{tiled: strategy=tiled}}
  %0:2 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %r_ = %r: tensor<?x1xf32>) -> (tensor<?x32xf16>, tensor<?x32xf32>) {
    %1 = tenon.div %acc, %r_ : tensor<?x32xf16>, tensor<?x1xf32>
    %2 = tenon.cast %1 : tensor<?x32xf16> -> tensor<?x32xf32>
    %3 = tenon.tanh %2 : tensor<?x32xf32>
    tenon.yield %1, %3 : tensor<?x32xf16>, tensor<?x32xf32>
  }
  return %0#0, %0#1 : tensor<?x32xf16>, tensor<?x32xf32>
}

// -----

// CHECK-LABEL: @no_tiled_f64
// CHECK: tenon.linear {{.*}} {strategy = #tenon.strategy<library>}
func.func @no_tiled_f64(%x: tensor<?x64xf64>, %w: tensor<32x64xf64>) -> tensor<?x32xf64> {
  // expected-remark @below {{Reason="no tiled kernel multiplies f64", Remark="library: the layer cannot be tiled"}}
  %0 = tenon.linear %x, %w : (tensor<?x64xf64>, tensor<32x64xf64>) -> tensor<?x32xf64>
  return %0 : tensor<?x32xf64>
}

// -----

// One reduction can be part of a tiled layer, two cannot.
// CHECK-LABEL: @no_tiled_reduction
// CHECK: {strategy = #tenon.strategy<library>}
func.func @no_tiled_reduction(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-remark @below {{Reason="'tenon.batch_norm_training' needs all rows, of which a tile has but some"}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>) -> tensor<?x32xf16> {
    %1 = tenon.batch_norm_training %acc : (tensor<?x32xf16>) -> tensor<?x32xf16>
    %2 = tenon.batch_norm_training %1 : (tensor<?x32xf16>) -> tensor<?x32xf16>
    tenon.yield %2 : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}

// -----

// CHECK-LABEL: @no_tiled_result_of_features
// CHECK: attributes {strategy = #tenon.strategy<library>}
func.func @no_tiled_result_of_features(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %b: tensor<32xf16>) -> (tensor<?x32xf16>, tensor<32xf16>) {
  // expected-remark @below {{Reason="result #1 is not of the product's shape, and a tile writes nothing else", Remark="library: the layer cannot be tiled", Suggestion="compute it outside of the layer"}}
  %0:2 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %b_ = %b: tensor<32xf16>) -> (tensor<?x32xf16>, tensor<32xf16>) {
    %1 = tenon.relu %b_ : tensor<32xf16>
    %2 = tenon.add %acc, %1 : tensor<?x32xf16>, tensor<32xf16>
    tenon.yield %2, %1 : tensor<?x32xf16>, tensor<32xf16>
  }
  return %0#0, %0#1 : tensor<?x32xf16>, tensor<32xf16>
}

// -----

// One value a row is not what a tile writes, though it differs from row to row.
func.func @no_tiled_row_result(%x: tensor<64x64xf16>, %w: tensor<32x64xf16>, %r: tensor<64x1xf16>) -> (tensor<64x32xf16>, tensor<64x1xf16>) {
  // expected-remark @below {{result #1 is not of the product's shape}}
  %0:2 = tenon.fused_linear %x, %w : tensor<64x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<64x32xf16>, %r_ = %r: tensor<64x1xf16>) -> (tensor<64x32xf16>, tensor<64x1xf16>) {
    %1 = tenon.mul %acc, %r_ : tensor<64x32xf16>, tensor<64x1xf16>
    %2 = tenon.relu %r_ : tensor<64x1xf16>
    tenon.yield %1, %2 : tensor<64x32xf16>, tensor<64x1xf16>
  }
  return %0#0, %0#1 : tensor<64x32xf16>, tensor<64x1xf16>
}

// -----

func.func @no_tiled_extent(%x: tensor<4294967301x1xf16>, %w: tensor<1x1xf16>) -> tensor<4294967301x1xf16> {
  // expected-remark @below {{a tiled kernel counts rows, columns and K in 32 bits, too few for 4294967301}}
  %0 = tenon.linear %x, %w : (tensor<4294967301x1xf16>, tensor<1x1xf16>) -> tensor<4294967301x1xf16>
  return %0 : tensor<4294967301x1xf16>
}
