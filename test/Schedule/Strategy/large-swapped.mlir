// Large layers of 16 bits multiply rows of w by rows of x: that takes less power, so the clock is higher.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled reduction=resident" | FileCheck %s

// Not in the table of measured schedules: predicted. Two warpgroups together where the epilogue is light and K long.
// CHECK-LABEL: @long_k
// CHECK: #tenon.schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1, cluster = 1x2>
func.func @long_k(%x: tensor<4096x14336xbf16>, %w: tensor<4096x14336xbf16>) -> tensor<4096x4096xbf16> {
  %0 = tenon.linear %x, %w : (tensor<4096x14336xbf16>, tensor<4096x14336xbf16>) -> tensor<4096x4096xbf16>
  return %0 : tensor<4096x4096xbf16>
}

// In turn where the epilogue takes long beside the products.
// CHECK-LABEL: @heavy
// CHECK: #tenon.schedule<wgmma, tile = 192x128x64, warps = 1x4, stages = 4, {{.*}}cluster = 1x2, ping_pong = true>
func.func @heavy(%x: tensor<2048x4096xf16>, %w: tensor<6144x4096xf16>) -> tensor<2048x6144xf16> {
  %0 = tenon.fused_linear %x, %w : tensor<2048x4096xf16>, tensor<6144x4096xf16>
      epilogue(%acc: tensor<2048x6144xf16>) -> tensor<2048x6144xf16> {
    %1 = tenon.gelu %acc : tensor<2048x6144xf16>
    tenon.yield %1 : tensor<2048x6144xf16>
  }
  return %0 : tensor<2048x6144xf16>
}

// Of a dynamic M tiles have no more rows than others.
// CHECK-LABEL: @dynamic
// CHECK: #tenon.schedule<wgmma, tile = 128x256x64, warps = 1x8, {{.*}}stream_k = true, cluster = 2x1>
func.func @dynamic(%x: tensor<?x4096xbf16>, %w: tensor<8192x4096xbf16>) -> tensor<?x8192xbf16> {
  %0 = tenon.linear %x, %w : (tensor<?x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<?x8192xbf16>
  return %0 : tensor<?x8192xbf16>
}

// Not for tf32 or its method fp16, which were not measured, nor where threads store the elements one by one, nor for fewer rows.
// CHECK-LABEL: @others
// CHECK-NOT: warps = 1x
func.func @others(%x: tensor<2048x4096xf32>, %w: tensor<4096x4096xf32>, %y: tensor<4096x4096xbf16>, %z: tensor<4100x4096xbf16>,
                  %few: tensor<512x4096xbf16>, %v: tensor<4096x4096xbf16>)
    -> (tensor<2048x4096xf32>, tensor<4096x4100xbf16>, tensor<512x4096xbf16>) {
  %0 = tenon.linear %x, %w precision<tf32> : (tensor<2048x4096xf32>, tensor<4096x4096xf32>) -> tensor<2048x4096xf32>
  %1 = tenon.linear %y, %z : (tensor<4096x4096xbf16>, tensor<4100x4096xbf16>) -> tensor<4096x4100xbf16>
  %2 = tenon.linear %few, %v : (tensor<512x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<512x4096xbf16>
  return %0, %1, %2 : tensor<2048x4096xf32>, tensor<4096x4100xbf16>, tensor<512x4096xbf16>
}

// A resident kernel that reduces with operands swapped has nothing with rows but the product.
// CHECK-LABEL: @resident
// CHECK: warps = 1x8, {{.*}}reduction = resident>
// CHECK: warps = 8x1, {{.*}}reduction = resident>
func.func @resident(%x: tensor<1024x4096xbf16>, %w: tensor<8192x4096xbf16> {tenon.param}, %r: tensor<1024x8192xbf16>)
    -> (tensor<1024x8192xbf16>, tensor<1024x8192xbf16>) {
  %0 = tenon.fused_linear %x, %w : tensor<1024x4096xbf16>, tensor<8192x4096xbf16>
      epilogue(%acc: tensor<1024x8192xbf16>, %residual = %r: tensor<1024x8192xbf16>) -> tensor<1024x8192xbf16> {
    %2 = tenon.batch_norm_training %acc : (tensor<1024x8192xbf16>) -> tensor<1024x8192xbf16>
    %3 = tenon.add %2, %residual : tensor<1024x8192xbf16>, tensor<1024x8192xbf16>
    tenon.yield %3 : tensor<1024x8192xbf16>
  }
  %1 = tenon.fused_linear %x, %w : tensor<1024x4096xbf16>, tensor<8192x4096xbf16>
      epilogue(%acc: tensor<1024x8192xbf16>, %residual = %r: tensor<1024x8192xbf16>) -> tensor<1024x8192xbf16> {
    %2 = tenon.add %acc, %residual : tensor<1024x8192xbf16>, tensor<1024x8192xbf16>
    %3 = tenon.batch_norm_training %2 : (tensor<1024x8192xbf16>) -> tensor<1024x8192xbf16>
    tenon.yield %3 : tensor<1024x8192xbf16>
  }
  return %0, %1 : tensor<1024x8192xbf16>, tensor<1024x8192xbf16>
}
