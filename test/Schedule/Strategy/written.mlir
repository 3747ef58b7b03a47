// What is written on a layer is kept.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_80,sm_86 strategy=library" --split-input-file | FileCheck %s
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_80,sm_86 strategy=library" --split-input-file \
// RUN:   --remarks-filter=tenon-select-strategy --verify-diagnostics -o /dev/null

// CHECK-LABEL: @library
// CHECK: {strategy = #tenon.strategy<library>}
func.func @library(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-remark @below {{library: written on the layer}}
  %0 = tenon.linear %x, %w {strategy = #tenon.strategy<library>} : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

// CHECK-LABEL: @nothing
// CHECK: {strategy = #tenon.strategy<library>}
func.func @nothing(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-remark @below {{library: strategy=library}}
  %0 = tenon.linear %x, %w : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

// A strategy alone gets a schedule, here one that fits the smaller GPU too.
// CHECK-LABEL: @tiled
// CHECK: {schedule = #tenon.schedule<mma_sync, {{.*}}>, strategy = #tenon.strategy<tiled>}
func.func @tiled(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>) -> tensor<?x32xf16> {
  // expected-remark @below {{tiled: written on the layer}}
  %0 = tenon.linear %x, %w {strategy = #tenon.strategy<tiled>} : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

// A schedule alone means tiled; it is kept as it is, and the operands are made to fit.
// CHECK-LABEL: @schedule
// CHECK: tenon.round_tf32
// CHECK: tenon.linear {{.*}} {schedule = #tenon.schedule<mma_sync, tile = 64x64x16, warps = 2x2, stages = 5, swizzle = 64, raster = 3, blocks = 1>, strategy = #tenon.strategy<tiled>}
func.func @schedule(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{tiled: written on the layer}}
  %0 = tenon.linear %x, %w precision<tf32> {schedule = #tenon.schedule<mma_sync, tile = 64x64x16, warps = 2x2, stages = 5, swizzle = 64, raster = 3, blocks = 1>}
      : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
