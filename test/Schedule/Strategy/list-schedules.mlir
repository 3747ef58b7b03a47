// The schedules that are worth measuring, the likely best first, and how much the epilogue computes.
// RUN: split-file %s %t
// RUN: tenon-opt %t/layers.mlir --tenon-list-schedules=targets=sm_90a | FileCheck %s --check-prefix=WGMMA
// RUN: tenon-opt %t/layers.mlir --tenon-list-schedules=targets=sm_80,sm_90a | FileCheck %s --check-prefix=SYNC --implicit-check-not='<wgmma'
// RUN: tenon-opt %t/layers.mlir --tenon-list-schedules | FileCheck %s --check-prefix=NONE --implicit-check-not=tenon.candidates
// RUN: not tenon-opt %t/layers.mlir --tenon-list-schedules=targets=sm_70 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: tenon-compile %t/layers.mlir --target=sm_90a --stop-after=schedules | FileCheck %s --check-prefix=WGMMA
// TARGET: error: 'sm_70' is not a target; known are

// The first is the one that the choice would take, or one like it with a part of each tile deferred.
// WGMMA-LABEL: @light
// WGMMA: tenon.candidates = {epilogue = "light", schedules = [
// WGMMA-SAME: #tenon.schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1, cluster = {{2x1|1x2}}, defer = true>
// WGMMA-SAME: #tenon.schedule<wgmma, tile = 128x256x64, warps = 8x1,
// SYNC-LABEL: @light
// SYNC: tenon.candidates = {epilogue = "light", schedules = [
// SYNC-SAME: #tenon.schedule<mma_sync, tile = 128x256x64, warps = 2x4, stages = 3, swizzle = 128, raster = 16, blocks = 1, stream_k = true>
// NONE-LABEL: @light

// Of precision tf32 by both methods; the layer need not be a linear alone.
// WGMMA-LABEL: @heavy
// WGMMA: tenon.candidates = {epilogue = "heavy", schedules = [
// WGMMA-SAME: method = fp16>
// WGMMA-SAME: x32, {{[^>]*}}raster = {{[0-9]+}}, blocks = 1{{(, stream_k = true)?(, cluster = [12]x[12])?(, ping_pong = true)?}}>

// Rows that TMA cannot copy.
// WGMMA-LABEL: @odd
// WGMMA: tenon.candidates = {epilogue = "light", schedules = [#tenon.schedule<mma_sync,

// WGMMA-LABEL: @none
// WGMMA: tenon.candidates = {epilogue = "light", schedules = []}

//--- layers.mlir
func.func @light(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %0 : tensor<4096x4096xbf16>
}

func.func @heavy(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %0 = tenon.fused_linear %x, %w precision<tf32> : tensor<4096x4096xf32>, tensor<4096x4096xf32>
      epilogue(%acc: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    %1 = tenon.gelu %acc : tensor<4096x4096xf32>
    tenon.yield %1 : tensor<4096x4096xf32>
  }
  return %0 : tensor<4096x4096xf32>
}

func.func @odd(%x: tensor<1024x1001xf16>, %w: tensor<1024x1001xf16>) -> tensor<1024x1024xf16> {
  %0 = tenon.linear %x, %w : (tensor<1024x1001xf16>, tensor<1024x1001xf16>) -> tensor<1024x1024xf16>
  return %0 : tensor<1024x1024xf16>
}

func.func @none(%x: tensor<64x64xf64>, %w: tensor<64x64xf64>) -> tensor<64x64xf64> {
  %0 = tenon.linear %x, %w : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  return %0 : tensor<64x64xf64>
}
