// The dialect's attributes on functions, their arguments and results, modules and layers.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: module attributes {tenon.kernels = ["forward_0", "forward_1"]}
module attributes {tenon.kernels = ["forward_0", "forward_1"]} {
  // CHECK: @forward_prepare(%arg0: tensor<4x8xf32> {tenon.name = "weight", tenon.param})
  func.func @forward_prepare(%w: tensor<4x8xf32> {tenon.name = "weight", tenon.param}) -> tensor<4x8xf32> {
    return %w : tensor<4x8xf32>
  }
  // CHECK: @forward(%arg0: tensor<?x8xf32> {tenon.name = "x"}, %arg1: tensor<4x8xf32> {tenon.prepared = 0 : i64})
  // CHECK-SAME: -> (tensor<?x4xf32> {tenon.name = "y"}) attributes {tenon.prepare = @forward_prepare}
  func.func @forward(%x: tensor<?x8xf32> {tenon.name = "x"}, %w: tensor<4x8xf32> {tenon.prepared = 0 : i64})
      -> (tensor<?x4xf32> {tenon.name = "y"}) attributes {tenon.prepare = @forward_prepare} {
    %y = tenon.linear %x, %w : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
}

// -----

// A parameter stays one when it is bufferized, and may have rank 0.
// CHECK: @bufferized(%arg0: memref<4x8xf32> {tenon.param}, %arg1: tensor<f32> {tenon.param})
func.func @bufferized(%w: memref<4x8xf32> {tenon.param}, %s: tensor<f32> {tenon.param}) {
  return
}

// -----

// CHECK-LABEL: @strategies
func.func @strategies(%x: tensor<?x8xf16>, %w: tensor<4x8xf16>) {
  // CHECK: tenon.linear {{.*}} {strategy = #tenon.strategy<library>}
  %0 = tenon.linear %x, %w {strategy = #tenon.strategy<library>} : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  // CHECK: tenon.fused_linear
  // CHECK-SAME: schedule = #tenon.schedule<mma_sync, tile = 64x128x32, warps = 2x4, stages = 4, swizzle = 64, raster = 8, blocks = 2, stream_k = true>
  // CHECK-SAME: strategy = #tenon.strategy<tiled>
  %1 = tenon.fused_linear %x, %w : tensor<?x8xf16>, tensor<4x8xf16> epilogue(%acc: tensor<?x4xf16>) -> tensor<?x4xf16>
      attributes {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync, tile = 64x128x32,
                  warps = 2x4, stages = 4, swizzle = 64, raster = 8, blocks = 2, stream_k = true>} {
    %2 = tenon.relu %acc : tensor<?x4xf16>
    tenon.yield %2 : tensor<?x4xf16>
  }
  // Without stream-K nothing is written.
  // CHECK: blocks = 1>}
  %3 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 16x128x64, warps = 1x4, stages = 3, swizzle = 128, raster = 8, blocks = 1>}
      : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  // What may be left out is read in any order.
  // CHECK: #tenon.schedule<wgmma, tile = 64x256x64, warps = 4x1, stages = 5, swizzle = 128, raster = 16, blocks = 1, stream_k = true, cluster = 2x1, ping_pong = true>
  %4 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 64x256x64, warps = 4x1, stages = 5, swizzle = 128, raster = 16, blocks = 1,
                                                             ping_pong = true, cluster = 2x1, stream_k = true>}
      : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  // CHECK: blocks = 1, cluster = 1x2>
  %5 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 128x256x64, warps = 8x1, stages = 4, swizzle = 128, raster = 16, blocks = 1,
                                                             cluster = 1x2>}
      : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  // Numbers are multiplied directly, unless a method is given.
  // CHECK: blocks = 1, method = fp16x3>
  %6 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 128x168x64, warps = 8x1, stages = 4, swizzle = 128, raster = 16, blocks = 1,
                                                             method = fp16x3>}
      : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  // CHECK: blocks = 1, stream_k = true, method = fp16>
  %7 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 128x256x64, warps = 8x1, stages = 4, swizzle = 128, raster = 16, blocks = 1,
                                                             method = fp16, stream_k = true>}
      : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  // CHECK: blocks = 1, method = fma>
  %8 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 16, blocks = 1,
                                                             method = fma>}
      : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  // CHECK: blocks = 1>
  %9 = tenon.linear %x, %w {schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 16, blocks = 1,
                                                             method = direct>}
      : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  // Between ping_pong and method.
  // CHECK: blocks = 1, cluster = 1x2, ping_pong = true, defer = true, method = fp16, reduction = resident>
  %10 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 1x4, stages = 4,
                                                              swizzle = 128, raster = 16, blocks = 1,
                                                              reduction = resident, method = fp16, defer = true,
                                                              ping_pong = true, cluster = 1x2>}
      : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  // CHECK: blocks = 1, defer = true>
  %11 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 1x4, stages = 4,
                                                              swizzle = 128, raster = 16, blocks = 1, defer = true>}
      : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  // CHECK: blocks = 1>
  %12 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, tile = 128x64x64, warps = 1x4, stages = 4,
                                                              swizzle = 128, raster = 16, blocks = 1, defer = false>}
      : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  // Keys in any order; a cluster of one block is none.
  // CHECK: #tenon.schedule<wgmma, tile = 64x128x64, warps = 4x1, stages = 4, swizzle = 128, raster = 16, blocks = 1, method = fp16>
  %13 = tenon.linear %x, %w {schedule = #tenon.schedule<wgmma, method = fp16, cluster = 1x1, stages = 4, blocks = 1,
                                                        warps = 4x1, swizzle = 128, raster = 16, tile = 64x128x64>}
      : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  return
}

// -----

// attributes-C1
// expected-error @below {{'func.func' op 'tenon.name' must be a string, but is 4 : i64}}
func.func @name_of_argument(%x: tensor<4xf32> {tenon.name = 4}) {
  return
}

// -----

// attributes-C1
// expected-error @below {{'func.func' op 'tenon.name' must be a string, but is unit}}
func.func @name_of_result(%x: tensor<4xf32>) -> (tensor<4xf32> {tenon.name}) {
  return %x : tensor<4xf32>
}

// -----

// attributes-C2
// expected-error @below {{'func.func' op 'tenon.prepared' of argument #1 must be the number, an i64, of a result of the function's prepare, but is -1 : i64}}
func.func @prepared_negative(%x: tensor<4xf32>, %w: tensor<4xf32> {tenon.prepared = -1}) {
  return
}

// -----

// attributes-C2
// expected-error @below {{'func.func' op 'tenon.prepared' of argument #0 must be the number, an i64, of a result of the function's prepare, but is 0 : i32}}
func.func @prepared_i32(%w: tensor<4xf32> {tenon.prepared = 0 : i32}) {
  return
}

// -----

// attributes-C3
// expected-error @below {{'func.func' op 'tenon.params' is not an attribute of an argument; expected 'tenon.param', 'tenon.name' or 'tenon.prepared'}}
func.func @misspelt(%w: tensor<4xf32> {tenon.params}) {
  return
}

// -----

// attributes-C4
// expected-error @below {{'func.func' op 'tenon.param' of argument #0 is a mark and takes no value, but is true}}
func.func @param_value(%w: tensor<4xf32> {tenon.param = true}) {
  return
}

// -----

// attributes-C5
// expected-error @below {{'func.func' op argument #0 is marked 'tenon.param' and must be a statically shaped tensor, but is 'tensor<?x4xf32>'}}
func.func @param_dynamic(%w: tensor<?x4xf32> {tenon.param}) {
  return
}

// -----

// attributes-C5
// expected-error @below {{'func.func' op argument #0 is marked 'tenon.param' and must be a statically shaped tensor, but is 'f32'}}
func.func @param_scalar(%w: f32 {tenon.param}) {
  return
}

// -----

// attributes-C6
// expected-error @below {{'func.func' op 'tenon.param' is not an attribute of a result; only 'tenon.name' is}}
func.func @param_result(%x: tensor<4xf32>) -> (tensor<4xf32> {tenon.param}) {
  return %x : tensor<4xf32>
}

// -----

// attributes-C7
// expected-error @below {{'func.func' op 'tenon.prepare' must be the symbol of a function, but is "f_prepare"}}
func.func @prepare_string() attributes {tenon.prepare = "f_prepare"} {
  return
}

// -----

// attributes-C8
// expected-error @below {{'builtin.module' op 'tenon.kernels' must be an array of strings, but is [1]}}
module attributes {tenon.kernels = [1]} {
}

// -----

// attributes-C9
// expected-error @below {{'func.func' op 'tenon.param' is not an attribute of this op}}
func.func @param_function() attributes {tenon.param} {
  return
}

// -----

// attributes-C9
// expected-error @below {{'func.func' op 'tenon.kernels' is not an attribute of this op}}
func.func @kernels_function() attributes {tenon.kernels = ["a"]} {
  return
}

// -----

// attributes-C9: a strategy is a layer's
func.func @strategy_elsewhere(%x: tensor<4xf32>) {
  // expected-error @below {{'tenon.relu' op 'tenon.strategy' is not an attribute of this op}}
  %0 = tenon.relu %x {tenon.strategy = #tenon.strategy<tiled>} : tensor<4xf32>
  return
}

// -----

// attributes-C9: only a launch is persistent
// expected-error @below {{'func.func' op 'tenon.persistent' is not an attribute of this op}}
func.func @persistent_function() attributes {tenon.persistent} {
  return
}

// -----

// attributes-C10
func.func @strategy_string(%x: tensor<?x8xf16>, %w: tensor<4x8xf16>) {
  // expected-error @below {{attribute 'strategy' failed to satisfy constraint: How a linear layer is computed, #tenon.strategy<library> or #tenon.strategy<tiled>}}
  %0 = tenon.linear %x, %w {strategy = "tiled"} : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  return
}

// -----

// attributes-C11
func.func @schedule_strategy(%x: tensor<?x8xf16>, %w: tensor<4x8xf16>) {
  // expected-error @below {{attribute 'schedule' failed to satisfy constraint: How a tiled kernel divides a product, a #tenon.schedule}}
  %0 = tenon.linear %x, %w {schedule = #tenon.strategy<tiled>} : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  return
}

// -----

// attributes-C12
func.func @schedules(%x: tensor<?x8xf16>, %w: tensor<4x8xf16>) {
  // expected-error @below {{'tenon.linear' op 'tenon.candidates' must be a dictionary, {epilogue = "light", schedules = [...]}, but is []}}
  %0 = tenon.linear %x, %w {tenon.candidates = []} : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  return
}

// -----

// tensor_map-C1
// expected-error @below {{box must be rows x columns, but has 3 extents}}
#map = #tenon.tensor_map<box = 1x128x64, swizzle = 128>

// -----

// tensor_map-C2
// expected-error @below {{an extent of a box must be 1 to 256, but is 257}}
#map = #tenon.tensor_map<box = 257x64, swizzle = 128>

// -----

// tensor_map-C2: zero
// expected-error @below {{an extent of a box must be 1 to 256, but is 0}}
#map = #tenon.tensor_map<box = 128x0, swizzle = 128>

// -----

// tensor_map-C3
// expected-error @below {{swizzle must be 32, 64 or 128 bytes, but is 16}}
#map = #tenon.tensor_map<box = 128x64, swizzle = 16>

// -----

// schedule-C1
// expected-error @below {{tile must be M x N x K, but has 2 extents}}
#schedule = #tenon.schedule<mma_sync, tile = 64x128, warps = 2x4, stages = 3, swizzle = 128, raster = 8, blocks = 1>

// -----

// Parser: what a schedule has to have
// expected-error @below {{a schedule needs warps, raster and blocks}}
#schedule = #tenon.schedule<mma_sync, stages = 3, swizzle = 128, tile = 64x128x64>

// -----

// schedule-C2
// expected-error @below {{warps must be along M x N, but have 1 extents}}
#schedule = #tenon.schedule<mma_sync, tile = 64x128x64, warps = 8, stages = 3, swizzle = 128, raster = 8, blocks = 1>

// -----

// schedule-C3
// expected-error @below {{every number of a schedule must be positive}}
#schedule = #tenon.schedule<mma_sync, tile = 64x128x64, warps = 2x4, stages = 0, swizzle = 128, raster = 8, blocks = 1>

// -----

// expected-error @below {{stream_k is given twice}}
#schedule = #tenon.schedule<mma_sync, tile = 64x128x64, warps = 2x4, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true, stream_k = false>

// -----

// schedule-C3: an extent
// expected-error @below {{every number of a schedule must be positive}}
#schedule = #tenon.schedule<mma_sync, tile = 64x0x64, warps = 2x4, stages = 3, swizzle = 128, raster = 8, blocks = 1>

// -----

// schedule-C3: of a cluster
// expected-error @below {{every number of a schedule must be positive}}
#schedule = #tenon.schedule<wgmma, tile = 128x256x64, warps = 8x1, stages = 4, swizzle = 128, raster = 16, blocks = 1, cluster = 0x1>

// -----

// schedule-C4
// expected-error @below {{cluster must be along M x N, but has 1 extents}}
#schedule = #tenon.schedule<wgmma, tile = 128x256x64, warps = 8x1, stages = 4, swizzle = 128, raster = 16, blocks = 1, cluster = 2>

// -----

// Parser: a method
// expected-error @below {{'bf16x9' is not a method; expected direct, fp16, fp16x3, fma or fp8}}
#schedule = #tenon.schedule<wgmma, tile = 128x256x64, warps = 8x1, stages = 4, swizzle = 128, raster = 16, blocks = 1, method = bf16x9>

// -----

// Parser: an option of a schedule
// expected-error @below {{expected tile, warps, stages, swizzle, raster, blocks, stream_k, cluster, ping_pong, defer, weights, siblings, terms, method or reduction, but found split_k}}
#schedule = #tenon.schedule<wgmma, tile = 128x256x64, warps = 8x1, stages = 4, swizzle = 128, raster = 16, blocks = 1, split_k = true>

// -----

// Parser: strategy
func.func @strategy_keyword(%x: tensor<?x8xf16>, %w: tensor<4x8xf16>) {
  // expected-error @below {{'fast' is not a strategy; expected library or tiled}}
  %0 = tenon.linear %x, %w {strategy = #tenon.strategy<fast>} : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  return
}

// -----

// Parser: family of kernels
// expected-error @below {{'wmma' is not a family of kernels; expected mma_sync or wgmma}}
#schedule = #tenon.schedule<wmma, tile = 64x128x64, warps = 2x4, stages = 3, swizzle = 128, raster = 8, blocks = 1>

// -----

// attributes-C13
// expected-error @below {{'func.func' op 'tenon.bounds' must be a unit attribute, but is 1 : i64}}
func.func @bounds_value() attributes {tenon.bounds = 1 : i64} {
  return
}
