// How layers are computed whose rows, or groups of columns, are normalised and wider than a tile.
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled reduction=resident_rows" --remarks-filter=tenon-select-strategy 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY < %t.remarks
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a | FileCheck %s --check-prefix=REREADS
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled reduction=separate" 2>/dev/null | FileCheck %s --check-prefix=SEPARATE --implicit-check-not=resident_rows
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_90a strategy=tiled reduction=in_tile" 2>/dev/null | FileCheck %s --check-prefix=SEPARATE --implicit-check-not=resident_rows
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_80 strategy=tiled reduction=resident_rows" | FileCheck %s --check-prefix=MMA
// RUN: tenon-opt %s --tenon-select-strategy="targets=sm_86 strategy=tiled" | FileCheck %s --check-prefix=SEPARATE --implicit-check-not=resident_rows

// CHECK-LABEL: @layer_norm
// CHECK: #tenon.schedule<wgmma, {{.*}}reduction = resident_rows>
// WHY: Function=layer_norm | Reason="rows reduced by tiles that exchange their parts; {{.*}}Remark="tiled:
// MMA-LABEL: @layer_norm
// MMA: #tenon.schedule<mma_sync, {{.*}}reduction = resident_rows>
// SEPARATE-LABEL: @layer_norm
func.func @layer_norm(%x: tensor<16384x1024xbf16>, %w: tensor<4096x1024xbf16>) -> tensor<16384x4096xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<16384x1024xbf16>, tensor<4096x1024xbf16>
      epilogue(%acc: tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16> {
    %z = tenon.cast %acc : tensor<16384x4096xbf16> -> tensor<16384x4096xf32>
    %mean = tenon.reduce_row mean %z : tensor<16384x4096xf32>
    %d = tenon.sub %z, %mean : tensor<16384x4096xf32>, tensor<16384x1xf32>
    %q = tenon.mul %d, %d : tensor<16384x4096xf32>, tensor<16384x4096xf32>
    %var = tenon.reduce_row mean %q : tensor<16384x4096xf32>
    %e = tenon.add %var, 1.0e-05 : tensor<16384x1xf32>
    %inv = tenon.rsqrt %e : tensor<16384x1xf32>
    %f = tenon.mul %d, %inv : tensor<16384x4096xf32>, tensor<16384x1xf32>
    %y = tenon.cast %f : tensor<16384x4096xf32> -> tensor<16384x4096xbf16>
    tenon.yield %y : tensor<16384x4096xbf16>
  }
  return %0 : tensor<16384x4096xbf16>
}

// A tile, or a cluster of them, has columns of one group.
// CHECK-LABEL: @group_norm
// CHECK: #tenon.schedule<wgmma, tile = {{[0-9]+}}x{{64|128|256}}x64, {{.*}}reduction = resident_rows>
// SEPARATE-LABEL: @group_norm
func.func @group_norm(%x: tensor<?x8192xbf16>, %w: tensor<8192x8192xbf16>) -> tensor<?x8192xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<?x8192xbf16>, tensor<8192x8192xbf16>
      epilogue(%acc: tensor<?x8192xbf16>) -> tensor<?x8192xbf16> {
    %z = tenon.cast %acc : tensor<?x8192xbf16> -> tensor<?x8192xf32>
    %mean = tenon.reduce_row mean %z {groups = 16} : tensor<?x8192xf32>
    %means = tenon.repeat_columns %mean {times = 512} : tensor<?x16xf32>
    %d = tenon.sub %z, %means : tensor<?x8192xf32>, tensor<?x8192xf32>
    %q = tenon.mul %d, %d : tensor<?x8192xf32>, tensor<?x8192xf32>
    %var = tenon.reduce_row mean %q {groups = 16} : tensor<?x8192xf32>
    %e = tenon.add %var, 1.0e-05 : tensor<?x16xf32>
    %inv = tenon.rsqrt %e : tensor<?x16xf32>
    %invs = tenon.repeat_columns %inv {times = 512} : tensor<?x16xf32>
    %f = tenon.mul %d, %invs : tensor<?x8192xf32>, tensor<?x8192xf32>
    %y = tenon.cast %f : tensor<?x8192xf32> -> tensor<?x8192xbf16>
    tenon.yield %y : tensor<?x8192xbf16>
  }
  return %0 : tensor<?x8192xbf16>
}

// A scalar is no operand of groups.
// CHECK-LABEL: @scaled_groups
// CHECK: #tenon.schedule<wgmma, {{.*}}reduction = resident_rows>
// SEPARATE-LABEL: @scaled_groups
func.func @scaled_groups(%x: tensor<?x8192xbf16>, %w: tensor<8192x8192xbf16>, %s: tensor<f32>) -> tensor<?x8192xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<?x8192xbf16>, tensor<8192x8192xbf16>
      epilogue(%acc: tensor<?x8192xbf16>, %ss = %s: tensor<f32>) -> tensor<?x8192xbf16> {
    %mean = tenon.reduce_row mean %acc {groups = 16} : tensor<?x8192xbf16>
    %means = tenon.repeat_columns %mean {times = 512} : tensor<?x16xbf16>
    %d = tenon.sub %acc, %means : tensor<?x8192xbf16>, tensor<?x8192xbf16>
    %y = tenon.mul %d, %ss : tensor<?x8192xbf16>, tensor<f32>
    tenon.yield %y : tensor<?x8192xbf16>
  }
  return %0 : tensor<?x8192xbf16>
}

// Where a tile has whole groups, nothing is exchanged; what asks for it has a tile of one.
// REREADS-LABEL: @groups_of_a_tile
// REREADS: #tenon.schedule<wgmma, {{.*}}reduction = in_tile>
// CHECK-LABEL: @groups_of_a_tile
// CHECK: #tenon.schedule<wgmma, tile = {{[0-9]+}}x{{64|128}}x64, {{.*}}reduction = resident_rows>
func.func @groups_of_a_tile(%x: tensor<1024x8192xbf16>, %w: tensor<8192x8192xbf16>) -> tensor<1024x8192xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<1024x8192xbf16>, tensor<8192x8192xbf16>
      epilogue(%acc: tensor<1024x8192xbf16>) -> tensor<1024x8192xbf16> {
    %mean = tenon.reduce_row mean %acc {groups = 64} : tensor<1024x8192xbf16>
    %means = tenon.repeat_columns %mean {times = 128} : tensor<1024x64xbf16>
    %d = tenon.sub %acc, %means : tensor<1024x8192xbf16>, tensor<1024x8192xbf16>
    tenon.yield %d : tensor<1024x8192xbf16>
  }
  return %0 : tensor<1024x8192xbf16>
}

// REREADS-LABEL: @narrow_groups
// REREADS: #tenon.schedule<wgmma, {{.*}}reduction = in_tile>
func.func @narrow_groups(%x: tensor<1024x8192xbf16>, %w: tensor<8192x8192xbf16>) -> tensor<1024x8192xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<1024x8192xbf16>, tensor<8192x8192xbf16>
      epilogue(%acc: tensor<1024x8192xbf16>) -> tensor<1024x8192xbf16> {
    %mean = tenon.reduce_row mean %acc {groups = 128} : tensor<1024x8192xbf16>
    %means = tenon.repeat_columns %mean {times = 64} : tensor<1024x128xbf16>
    %d = tenon.sub %acc, %means : tensor<1024x8192xbf16>, tensor<1024x8192xbf16>
    tenon.yield %d : tensor<1024x8192xbf16>
  }
  return %0 : tensor<1024x8192xbf16>
}

// Each turn would read all of w anew.
// REREADS-LABEL: @wide_w
// REREADS: #tenon.strategy<library>
// CHECK-LABEL: @wide_w
// CHECK: #tenon.schedule<wgmma, {{.*}}reduction = resident_rows>
// SEPARATE-LABEL: @wide_w
func.func @wide_w(%x: tensor<2048x2048xbf16>, %w: tensor<32000x2048xbf16>) -> tensor<2048x32000xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<2048x2048xbf16>, tensor<32000x2048xbf16>
      epilogue(%acc: tensor<2048x32000xf32>) -> tensor<2048x32000xf32> {
    %max = tenon.reduce_row max %acc : tensor<2048x32000xf32>
    %d = tenon.sub %acc, %max : tensor<2048x32000xf32>, tensor<2048x1xf32>
    %p = tenon.exp %d : tensor<2048x32000xf32>
    %sum = tenon.reduce_row sum %p : tensor<2048x32000xf32>
    %log = tenon.log %sum : tensor<2048x1xf32>
    %y = tenon.sub %d, %log : tensor<2048x32000xf32>, tensor<2048x1xf32>
    tenon.yield %y : tensor<2048x32000xf32>
  }
  return %0 : tensor<2048x32000xf32>
}

// A wider row than tiles can have at once.
// CHECK-LABEL: @too_wide
// CHECK-NOT: resident_rows
// CHECK: return
// SEPARATE-LABEL: @too_wide
func.func @too_wide(%x: tensor<1024x512xbf16>, %w: tensor<128256x512xbf16>) -> tensor<1024x128256xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<1024x512xbf16>, tensor<128256x512xbf16>
      epilogue(%acc: tensor<1024x128256xbf16>) -> tensor<1024x128256xbf16> {
    %z = tenon.cast %acc : tensor<1024x128256xbf16> -> tensor<1024x128256xf32>
    %mean = tenon.reduce_row mean %z : tensor<1024x128256xf32>
    %d = tenon.sub %z, %mean : tensor<1024x128256xf32>, tensor<1024x1xf32>
    %q = tenon.mul %d, %d : tensor<1024x128256xf32>, tensor<1024x128256xf32>
    %var = tenon.reduce_row mean %q : tensor<1024x128256xf32>
    %e = tenon.add %var, 1.0e-05 : tensor<1024x1xf32>
    %inv = tenon.rsqrt %e : tensor<1024x1xf32>
    %f = tenon.mul %d, %inv : tensor<1024x128256xf32>, tensor<1024x1xf32>
    %y = tenon.cast %f : tensor<1024x128256xf32> -> tensor<1024x128256xbf16>
    tenon.yield %y : tensor<1024x128256xbf16>
  }
  return %0 : tensor<1024x128256xbf16>
}

// A guard computes rows that a split does not hold anew, with all of their tiles.
// CHECK-LABEL: @split
// CHECK: #tenon.schedule<wgmma, {{.*}}method = fp16x3, reduction = resident_rows>
// WHY: Function=split | Reason="rows reduced by tiles that exchange their parts; wgmma fp16x3, {{.*}}"kernels":["split","tiled","guard"]
// MMA-LABEL: @split
// MMA: #tenon.schedule<mma_sync, {{.*}}method = fp16x3, reduction = resident_rows>
// SEPARATE-LABEL: @split
func.func @split(%x: tensor<16384x1024xf32>, %w: tensor<4096x1024xf32> {tenon.param}) -> tensor<16384x4096xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<16384x1024xf32>, tensor<4096x1024xf32>
      epilogue(%z: tensor<16384x4096xf32>) -> tensor<16384x4096xf32> {
    %mean = tenon.reduce_row mean %z : tensor<16384x4096xf32>
    %d = tenon.sub %z, %mean : tensor<16384x4096xf32>, tensor<16384x1xf32>
    %q = tenon.mul %d, %d : tensor<16384x4096xf32>, tensor<16384x4096xf32>
    %var = tenon.reduce_row mean %q : tensor<16384x4096xf32>
    %e = tenon.add %var, 1.0e-05 : tensor<16384x1xf32>
    %inv = tenon.rsqrt %e : tensor<16384x1xf32>
    %f = tenon.mul %d, %inv : tensor<16384x4096xf32>, tensor<16384x1xf32>
    tenon.yield %f : tensor<16384x4096xf32>
  }
  return %0 : tensor<16384x4096xf32>
}
