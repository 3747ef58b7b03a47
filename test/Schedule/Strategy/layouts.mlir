// Which layers of other layouts than mk_nk are tiled: those whose operands are turned as they are split, by fma, or multiplied as they lie.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled" --split-input-file | FileCheck %s
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --split-input-file | FileCheck %s --check-prefix=AUTO
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled" --tenon-to-tiled --split-input-file \
// RUN:   | FileCheck %s --check-prefix=TILED

// CHECK-LABEL: @of_w
// CHECK-SAME: (%[[DY:.*]]: tensor<1024x8192xf32>, %[[X:.*]]: tensor<1024x4096xf32>)
// CHECK: %[[YS:.*]]:2 = tenon.split %[[DY]] transposed : (tensor<1024x8192xf32>) -> (tensor<8192x2048xf16>, tensor<8192x1xf32>)
// CHECK: %[[YW:.*]] = tenon.with_split %[[DY]], %[[YS]]#0, %[[YS]]#1 transposed
// CHECK: %[[XS:.*]]:2 = tenon.split %[[X]] transposed : (tensor<1024x4096xf32>) -> (tensor<4096x2048xf16>, tensor<4096x1xf32>)
// CHECK: %[[XW:.*]] = tenon.with_split %[[X]], %[[XS]]#0, %[[XS]]#1 transposed
// CHECK: tenon.linear %[[YW]], %[[XW]] layout<km_kn> {{.*}} method = fp16x3>
// AUTO-LABEL: @of_w
// AUTO: #tenon.strategy<tiled>
// TILED-LABEL: @of_w
// TILED-SAME: (%[[DY:.*]]: tensor<1024x8192xf32>, %[[X:.*]]: tensor<1024x4096xf32>)
// TILED: tenon.tiled_linear %{{.*}}, %{{.*}} : tensor<8192x2048xf16>, tensor<4096x2048xf16>
// TILED: tenon.tiled_linear %[[DY]], %[[X]] layout<km_kn> : tensor<1024x8192xf32>, tensor<1024x4096xf32> factors({{.*}}method = fma>
func.func @of_w(%dy: tensor<1024x8192xf32>, %x: tensor<1024x4096xf32>) -> tensor<8192x4096xf32> {
  %0 = tenon.linear %dy, %x layout<km_kn> : (tensor<1024x8192xf32>, tensor<1024x4096xf32>) -> tensor<8192x4096xf32>
  return %0 : tensor<8192x4096xf32>
}

// -----

// A square weight that is multiplied both ways is split both ways, each of them once.
// CHECK-LABEL: @both_ways
// CHECK: %[[S:.*]]:2 = tenon.split %[[W:.*]] : (tensor<256x256xf32>)
// CHECK: tenon.with_split %[[W]], %[[S]]#0, %[[S]]#1 :
// CHECK: %[[T:.*]]:2 = tenon.split %{{.*}} transposed : (tensor<256x256xf32>)
// CHECK: tenon.with_split %{{.*}}, %[[T]]#0, %[[T]]#1 transposed
// CHECK-NOT: tenon.split %{{.*}} : (tensor<256x256xf32>)
// CHECK-NOT: transposed
// CHECK: return
func.func @both_ways(%x: tensor<512x256xf32>, %w: tensor<256x256xf32>) -> (tensor<512x256xf32>, tensor<512x256xf32>, tensor<512x256xf32>) {
  %0 = tenon.linear %x, %w : (tensor<512x256xf32>, tensor<256x256xf32>) -> tensor<512x256xf32>
  %1 = tenon.linear %x, %w layout<mk_kn> : (tensor<512x256xf32>, tensor<256x256xf32>) -> tensor<512x256xf32>
  %2 = tenon.linear %x, %w layout<mk_kn> : (tensor<512x256xf32>, tensor<256x256xf32>) -> tensor<512x256xf32>
  return %0, %1, %2 : tensor<512x256xf32>, tensor<512x256xf32>, tensor<512x256xf32>
}

// -----

// Below K = 64 the kernel itself turns them.
// CHECK-LABEL: @few
// CHECK-NOT: tenon.split
// CHECK: tenon.linear %{{.*}}, %{{.*}} layout<mk_kn> {{.*}} method = fma>
// TILED-LABEL: @few
// TILED: tenon.tiled_linear %{{.*}}, %{{.*}} layout<mk_kn> : tensor<?x40xf32>, tensor<40x256xf32> epilogue
func.func @few(%x: tensor<?x40xf32>, %w: tensor<40x256xf32>) -> tensor<?x256xf32> {
  %0 = tenon.linear %x, %w layout<mk_kn> : (tensor<?x40xf32>, tensor<40x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}

// -----

// No kernel that multiplies tf32 as it is turns it, but one of f16 on a scale.
// CHECK-LABEL: @tf32
// CHECK: tenon.split %{{.*}} transposed : (tensor<256x512xf32>) -> (tensor<512x256xf16>, tensor<512x1xf32>)
// CHECK: tenon.linear {{.*}} precision<tf32> layout<mk_kn> {{.*}} method = fp16>
// TILED-LABEL: @tf32
// TILED: tenon.tiled_linear %{{.*}}, %{{.*}} layout<mk_kn> : {{.*}} factors(
func.func @tf32(%x: tensor<?x256xf32>, %w: tensor<256x512xf32>) -> tensor<?x512xf32> {
  %0 = tenon.linear %x, %w precision<tf32> layout<mk_kn> : (tensor<?x256xf32>, tensor<256x512xf32>) -> tensor<?x512xf32>
  return %0 : tensor<?x512xf32>
}

// -----

// 16 bits are multiplied as they lie, by tiles that have whole boxes of them.
// CHECK-LABEL: @bf16
// CHECK: tenon.linear {{.*}} layout<km_kn> {schedule = #tenon.schedule<wgmma, tile = {{(64|128|192|256)}}x{{(64|128|192|256)}}x64,
// TILED-LABEL: @bf16
// TILED: tenon.tiled_linear %{{.*}}, %{{.*}} layout<km_kn> : tensor<256x512xbf16>, tensor<256x128xbf16>
func.func @bf16(%x: tensor<256x512xbf16>, %w: tensor<256x128xbf16>) -> tensor<512x128xbf16> {
  %0 = tenon.linear %x, %w layout<km_kn> : (tensor<256x512xbf16>, tensor<256x128xbf16>) -> tensor<512x128xbf16>
  return %0 : tensor<512x128xbf16>
}

// -----

// TMA takes no rows of 200 bytes.
// CHECK-LABEL: @unaligned
// CHECK: tenon.linear {{.*}} #tenon.strategy<library>
func.func @unaligned(%x: tensor<256x512xbf16>, %w: tensor<512x100xbf16>) -> tensor<256x100xbf16> {
  %0 = tenon.linear %x, %w layout<mk_kn> : (tensor<256x512xbf16>, tensor<512x100xbf16>) -> tensor<256x100xbf16>
  return %0 : tensor<256x100xbf16>
}

// -----

// The statistics of a batch norm are those of the product, not of moments of x.
// CHECK-LABEL: @norm
// CHECK-NOT: input_moments
// CHECK: return
func.func @norm(%x: tensor<65536x64xf32>, %w: tensor<64x256xf32>) -> tensor<65536x256xf32> {
  %0 = tenon.fused_linear %x, %w layout<mk_kn> : tensor<65536x64xf32>, tensor<64x256xf32> epilogue(%acc: tensor<65536x256xf32>) -> tensor<65536x256xf32> {
    %1 = tenon.batch_norm_training %acc {eps = 1.0e-5, momentum = 0.1} : (tensor<65536x256xf32>) -> tensor<65536x256xf32>
    tenon.yield %1 : tensor<65536x256xf32>
  }
  return %0 : tensor<65536x256xf32>
}
