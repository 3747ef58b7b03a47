// How layers that reduce rows are computed.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --remarks-filter=tenon-select-strategy 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY < %t.remarks
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90 strategy=tiled" | FileCheck %s --check-prefix=MMA
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_86 strategy=tiled" | FileCheck %s --check-prefix=SMALL
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled reduction=separate" 2>/dev/null | FileCheck %s --check-prefix=SEPARATE --implicit-check-not=in_tile

// A tile has whole rows.
// CHECK-LABEL: @whole
// CHECK: #tenon.schedule<wgmma, tile = {{[0-9]+}}x256x64, warps = {{[48]}}x1, {{.*}}reduction = in_tile>
// WHY: Function=whole | Reason="rows reduced in their tile; {{.*}}Remark="tiled:
// MMA-LABEL: @whole
// MMA: #tenon.schedule<mma_sync, tile = {{[0-9]+}}x256x64, {{.*}}reduction = in_tile>
// The kernel for other pointers has no room for wider rows of x and w.
// SMALL-LABEL: @whole
// SMALL: #tenon.schedule<mma_sync, tile = {{[0-9]+}}x256x32, {{.*}}swizzle = 64, {{.*}}reduction = in_tile>
// SEPARATE-LABEL: @whole
// SEPARATE: #tenon.strategy<library>
func.func @whole(%x: tensor<65536x256xbf16>, %w: tensor<256x256xbf16>) -> tensor<65536x256xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<65536x256xbf16>, tensor<256x256xbf16>
      epilogue(%acc: tensor<65536x256xbf16>) -> tensor<65536x256xbf16> {
    %1 = tenon.reduce_row mean %acc : tensor<65536x256xbf16>
    %2 = tenon.sub %acc, %1 : tensor<65536x256xbf16>, tensor<65536x1xbf16>
    tenon.yield %2 : tensor<65536x256xbf16>
  }
  return %0 : tensor<65536x256xbf16>
}

// No tile is as wide, and other targets' tiles exchange nothing.
// CHECK-LABEL: @wide
// CHECK: reduction = resident_rows>
// WHY: Function=wide | Reason="rows reduced by tiles that exchange their parts; {{.*}}Remark="tiled:
// SMALL-LABEL: @wide
// SMALL: #tenon.strategy<library>
func.func @wide(%x: tensor<1024x256xbf16>, %w: tensor<264x256xbf16>) -> tensor<1024x264xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<1024x256xbf16>, tensor<264x256xbf16>
      epilogue(%acc: tensor<1024x264xbf16>) -> tensor<1024x264xbf16> {
    %1 = tenon.reduce_row max %acc : tensor<1024x264xbf16>
    %2 = tenon.sub %acc, %1 : tensor<1024x264xbf16>, tensor<1024x1xbf16>
    tenon.yield %2 : tensor<1024x264xbf16>
  }
  return %0 : tensor<1024x264xbf16>
}

// The product of split x and w pays by itself.
// CHECK-LABEL: @wide_f32
// CHECK: #tenon.schedule<wgmma, {{.*}}method = fp16x3>
func.func @wide_f32(%x: tensor<8192x4096xf32>, %w: tensor<4096x4096xf32> {tenon.param}) -> tensor<8192x1xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<8192x4096xf32>, tensor<4096x4096xf32>
      epilogue(%acc: tensor<8192x4096xf32>) -> tensor<8192x1xf32> {
    %1 = tenon.reduce_row max %acc : tensor<8192x4096xf32>
    tenon.yield %1 : tensor<8192x1xf32>
  }
  return %0 : tensor<8192x1xf32>
}

// Groups of columns that fit a tile: a warp has whole ones.
// CHECK-LABEL: @pool
// CHECK: #tenon.schedule<wgmma, {{.*}}reduction = in_tile>
// WHY: Function=pool | Reason="rows reduced in their tile; {{.*}}Remark="tiled:
// MMA-LABEL: @pool
// MMA: #tenon.schedule<mma_sync, {{.*}}reduction = in_tile>
// SEPARATE-LABEL: @pool
// SEPARATE: #tenon.strategy<library>
func.func @pool(%x: tensor<1024x8192xbf16>, %w: tensor<8192x8192xbf16>) -> tensor<1024x2048xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<1024x8192xbf16>, tensor<8192x8192xbf16>
      epilogue(%acc: tensor<1024x8192xbf16>) -> tensor<1024x2048xbf16> {
    %1 = tenon.reduce_row max %acc {groups = 2048} : tensor<1024x8192xbf16>
    tenon.yield %1 : tensor<1024x2048xbf16>
  }
  return %0 : tensor<1024x2048xbf16>
}

// CHECK-LABEL: @groups_of_24
// CHECK: #tenon.schedule<wgmma, tile = {{[0-9]+}}x{{240|192|144|96|48}}x64, {{.*}}reduction = in_tile>
// SEPARATE-LABEL: @groups_of_24
// SEPARATE: #tenon.strategy<library>
func.func @groups_of_24(%x: tensor<1024x1024xbf16>, %w: tensor<1536x1024xbf16>) -> tensor<1024x1536xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<1024x1024xbf16>, tensor<1536x1024xbf16>
      epilogue(%acc: tensor<1024x1536xbf16>) -> tensor<1024x1536xbf16> {
    %1 = tenon.reduce_row mean %acc {groups = 64} : tensor<1024x1536xbf16>
    %2 = tenon.repeat_columns %1 {times = 24} : tensor<1024x64xbf16>
    %3 = tenon.sub %acc, %2 : tensor<1024x1536xbf16>, tensor<1024x1536xbf16>
    tenon.yield %3 : tensor<1024x1536xbf16>
  }
  return %0 : tensor<1024x1536xbf16>
}

// Groups of three lie in no lane.
// CHECK-LABEL: @groups_of_3
// CHECK-NOT: in_tile
// CHECK-LABEL: @two_results
// CHECK-NOT: in_tile
func.func @groups_of_3(%x: tensor<1024x1024xbf16>, %w: tensor<1536x1024xbf16>) -> tensor<1024x512xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<1024x1024xbf16>, tensor<1536x1024xbf16>
      epilogue(%acc: tensor<1024x1536xbf16>) -> tensor<1024x512xbf16> {
    %1 = tenon.reduce_row max %acc {groups = 512} : tensor<1024x1536xbf16>
    tenon.yield %1 : tensor<1024x512xbf16>
  }
  return %0 : tensor<1024x512xbf16>
}

func.func @two_results(%x: tensor<1024x1024xbf16>, %w: tensor<1536x1024xbf16>) -> (tensor<1024x1536xbf16>, tensor<1024x1536xbf16>) {
  %0:2 = tenon.fused_linear %x, %w : tensor<1024x1024xbf16>, tensor<1536x1024xbf16>
      epilogue(%acc: tensor<1024x1536xbf16>) -> (tensor<1024x1536xbf16>, tensor<1024x1536xbf16>) {
    %1 = tenon.reduce_row mean %acc {groups = 48} : tensor<1024x1536xbf16>
    %2 = tenon.repeat_columns %1 {times = 32} : tensor<1024x48xbf16>
    %3 = tenon.sub %acc, %2 : tensor<1024x1536xbf16>, tensor<1024x1536xbf16>
    tenon.yield %acc, %3 : tensor<1024x1536xbf16>, tensor<1024x1536xbf16>
  }
  return %0#0, %0#1 : tensor<1024x1536xbf16>, tensor<1024x1536xbf16>
}
