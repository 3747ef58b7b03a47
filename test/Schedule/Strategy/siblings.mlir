// Layers of one x have one launch where that is asked for and they can, or is predicted to be faster.
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_90a siblings=always" --split-input-file \
// RUN:   | FileCheck %s
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_90a siblings=always" --split-input-file \
// RUN:   --remarks-filter=tenon-select-strategy -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// Run again, the pass changes nothing.
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_90a siblings=always" --split-input-file -o %t.once
// RUN: tenon-opt %t.once --tenon-select-strategy=targets=sm_90a --split-input-file | diff %t.once -
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_90a siblings=never" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=NONE --implicit-check-not="siblings ="
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy=targets=sm_90a --split-input-file \
// RUN:   | FileCheck %s --check-prefix=AUTO
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy=targets=sm_90a --split-input-file \
// RUN:   --remarks-filter=tenon-select-strategy -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHYNOT
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_80 siblings=always" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=SM80
// What the layers become stands side by side.
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_90a siblings=always" --tenon-to-tiled \
// RUN:   --split-input-file | FileCheck %s --check-prefix=TILED

// NONE-LABEL: @qkv
// AUTO-LABEL: @qkv
// AUTO-COUNT-3: siblings = 3
// SM80-LABEL: @qkv
// SM80-COUNT-3: schedule = #tenon.schedule<mma_sync, {{.*}}siblings = 3>
// CHECK-LABEL: @qkv
// CHECK: tenon.linear {{.*}}schedule = #tenon.schedule<wgmma, [[SCHEDULE:.*warps = 1x4.*siblings = 3]]>, strategy = #tenon.strategy<tiled>
// CHECK: tenon.linear {{.*}}schedule = #tenon.schedule<wgmma, [[SCHEDULE]]>
// CHECK: tenon.fused_linear
// CHECK: schedule = #tenon.schedule<wgmma, [[SCHEDULE]]>
// WHY-COUNT-3: Function=qkv | Reason="{{.*}}one launch for 3 layers{{.*}}", Remark="tiled: one launch for 3 layers of its x, predicted to take {{[0-9.]+}} us"
func.func @qkv(%x: tensor<8x4096xbf16>, %q: tensor<4096x4096xbf16>, %k: tensor<1024x4096xbf16>, %v: tensor<1024x4096xbf16>)
    -> (tensor<8x4096xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>) {
  %0 = tenon.linear %x, %q : (tensor<8x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8x4096xbf16>
  %1 = tenon.linear %x, %k : (tensor<8x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<8x1024xbf16>
  %2 = tenon.linear %x, %v : (tensor<8x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<8x1024xbf16>
  %3 = tenon.relu %2 : tensor<8x1024xbf16>
  return %0, %1, %3 : tensor<8x4096xbf16>, tensor<8x1024xbf16>, tensor<8x1024xbf16>
}

// -----

// What needs a result comes behind all of them, and is none of them; what they need comes before.
// AUTO-LABEL: @between
// AUTO-NOT: siblings =
// CHECK-LABEL: @between
// CHECK: tenon.linear {{.*}}siblings = 2>
// CHECK-NEXT: tenon.fused_linear {{.*}}siblings = 2>
// CHECK: tenon.linear
// CHECK-NOT: siblings =
// TILED-LABEL: @between
// TILED: tenon.tiled_linear %[[X:.*]], %{{.*}} : tensor<?x512xf16>
// TILED: siblings = 2
// TILED-NOT: tenon.linear
// TILED: tenon.tiled_linear %[[X]], %{{.*}} : tensor<?x512xf16>
// TILED: siblings = 2
func.func @between(%x: tensor<?x512xf16>, %a: tensor<512x512xf16>, %b: tensor<512x512xf16>, %c: tensor<512x512xf16>,
                   %r: tensor<?x512xf16>) -> (tensor<?x512xf16>, tensor<?x512xf16>) {
  %0 = tenon.linear %x, %a : (tensor<?x512xf16>, tensor<512x512xf16>) -> tensor<?x512xf16>
  %1 = tenon.linear %0, %c : (tensor<?x512xf16>, tensor<512x512xf16>) -> tensor<?x512xf16>
  %2 = tenon.linear %x, %b : (tensor<?x512xf16>, tensor<512x512xf16>) -> tensor<?x512xf16>
  %3 = tenon.add %2, %r : tensor<?x512xf16>, tensor<?x512xf16>
  return %1, %3 : tensor<?x512xf16>, tensor<?x512xf16>
}

// -----

// One that needs the other's result is none, nor one of another x, of x^T, whose rows TMA cannot store, or that reduces.
// CHECK-LABEL: @none
// CHECK-NOT: siblings =
func.func @none(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>, %a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %c: tensor<84x64xf16>)
    -> (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x84xf16>, tensor<64x1xf16>) {
  %0 = tenon.linear %x, %a : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %1 = tenon.relu %0 : tensor<64x64xf16>
  %2 = tenon.linear %x, %1 : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %3 = tenon.linear %y, %a : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %4 = tenon.linear %x, %b layout<km_nk> : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %5 = tenon.linear %x, %c : (tensor<64x64xf16>, tensor<84x64xf16>) -> tensor<64x84xf16>
  %6 = tenon.linear %x, %b : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %7 = tenon.reduce_row max %6 : tensor<64x64xf16>
  return %2, %3, %4, %5, %7 : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x84xf16>, tensor<64x1xf16>
}

// -----

// Nothing is gained where each fills waves of its own; with any number of rows it is still done where it is asked for.
// AUTO-LABEL: @wide
// AUTO-NOT: siblings =
// WHYNOT: [Missed] Siblings | {{.*}}Reason="one launch for it and the layers behind it, 2 of one x, is predicted to take {{[0-9.]+}} us, and {{[0-9.]+}} us one each"
// CHECK-LABEL: @wide
// CHECK-COUNT-2: siblings = 2
func.func @wide(%x: tensor<256x4096xbf16>, %a: tensor<16384x4096xbf16>, %b: tensor<16384x4096xbf16>)
    -> (tensor<256x16384xbf16>, tensor<256x16384xbf16>) {
  %0 = tenon.linear %x, %a : (tensor<256x4096xbf16>, tensor<16384x4096xbf16>) -> tensor<256x16384xbf16>
  %1 = tenon.linear %x, %b : (tensor<256x4096xbf16>, tensor<16384x4096xbf16>) -> tensor<256x16384xbf16>
  return %0, %1 : tensor<256x16384xbf16>, tensor<256x16384xbf16>
}

// -----

// AUTO-LABEL: @many_rows
// AUTO-NOT: siblings =
// CHECK-LABEL: @many_rows
// CHECK-COUNT-2: siblings = 2
func.func @many_rows(%x: tensor<257x512xbf16>, %a: tensor<512x512xbf16>, %b: tensor<512x512xbf16>)
    -> (tensor<257x512xbf16>, tensor<257x512xbf16>) {
  %0 = tenon.linear %x, %a : (tensor<257x512xbf16>, tensor<512x512xbf16>) -> tensor<257x512xbf16>
  %1 = tenon.linear %x, %b : (tensor<257x512xbf16>, tensor<512x512xbf16>) -> tensor<257x512xbf16>
  return %0, %1 : tensor<257x512xbf16>, tensor<257x512xbf16>
}
