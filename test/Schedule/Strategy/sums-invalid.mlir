// What a schedule of several terms that is written on layers cannot be.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90a --split-input-file --verify-diagnostics

#sum = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, terms = 2>
func.func @alone(%x: tensor<512x64xf16>, %w: tensor<256x64xf16>) -> tensor<512x256xf16> {
  // expected-error @below {{terms = 2 is for 2 layers of which each has the result of the one before it added to its product, all with this schedule}}
  %0 = tenon.linear %x, %w {schedule = #sum} : (tensor<512x64xf16>, tensor<256x64xf16>) -> tensor<512x256xf16>
  return %0 : tensor<512x256xf16>
}

// -----

#sum = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, terms = 2>
func.func @behind_relu(%x: tensor<512x64xf16>, %w: tensor<256x64xf16>) -> tensor<512x256xf16> {
  %0 = tenon.linear %x, %w {schedule = #sum} : (tensor<512x64xf16>, tensor<256x64xf16>) -> tensor<512x256xf16>
  // expected-error @below {{it is not added to a product alone: tenon.relu comes first}}
  %1 = tenon.fused_linear %x, %w : tensor<512x64xf16>, tensor<256x64xf16> epilogue(%acc: tensor<512x256xf16>, %p = %0: tensor<512x256xf16>)
      -> tensor<512x256xf16> attributes {schedule = #sum} {
    %2 = tenon.relu %acc : tensor<512x256xf16>
    %3 = tenon.add %2, %p : tensor<512x256xf16>, tensor<512x256xf16>
    tenon.yield %3 : tensor<512x256xf16>
  }
  return %1 : tensor<512x256xf16>
}

// -----

#sum = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, terms = 2>
func.func @family(%x: tensor<512x64xf16>, %w: tensor<256x64xf16>) -> tensor<512x256xf16> {
  %0 = tenon.linear %x, %w {schedule = #sum} : (tensor<512x64xf16>, tensor<256x64xf16>) -> tensor<512x256xf16>
  // expected-error @below {{on sm_90a: kernels of family wgmma and method direct add products up; leave out terms}}
  %1 = tenon.fused_linear %x, %w : tensor<512x64xf16>, tensor<256x64xf16> epilogue(%acc: tensor<512x256xf16>, %p = %0: tensor<512x256xf16>)
      -> tensor<512x256xf16> attributes {schedule = #sum} {
    %2 = tenon.add %acc, %p : tensor<512x256xf16>, tensor<512x256xf16>
    tenon.yield %2 : tensor<512x256xf16>
  }
  return %1 : tensor<512x256xf16>
}

// -----

#sum = #tenon.schedule<wgmma, tile = 128x64x64, warps = 8x1, stages = 4, swizzle = 128, raster = 8, blocks = 1, weights = 2, terms = 2>
func.func @weights(%x: tensor<512x64xf16>, %z: tensor<512x64xf16>, %w: tensor<256x64xf16>) -> tensor<512x256xf16> {
  %0 = tenon.linear %z, %w {schedule = #sum} : (tensor<512x64xf16>, tensor<256x64xf16>) -> tensor<512x256xf16>
  // expected-error @below {{on sm_90a: with terms there are no weights, siblings or reduction; leave them out}}
  %1 = tenon.fused_linear %x, %w : tensor<512x64xf16>, tensor<256x64xf16> epilogue(%acc: tensor<512x256xf16>, %p = %0: tensor<512x256xf16>)
      -> tensor<512x256xf16> attributes {schedule = #sum} {
    %2 = tenon.add %acc, %p : tensor<512x256xf16>, tensor<512x256xf16>
    tenon.yield %2 : tensor<512x256xf16>
  }
  return %1 : tensor<512x256xf16>
}
