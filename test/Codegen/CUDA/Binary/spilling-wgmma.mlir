// REQUIRES: ptxas
// RUN: tenon-compile %s --target=sm_90a --strategy=tiled --remarks-filter=tenon-kernels -o %t.so \
// RUN:   --schedule='wgmma, tile = 256x96x64, warps = 8x1, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3, stream_k = true' \
// RUN:   2>&1 | FileCheck %s
// RUN: tenon-compile %s --target=sm_90a --strategy=tiled --emit=ptx -o %t.ptx \
// RUN:   --schedule='wgmma, tile = 256x96x64, warps = 8x1, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3, stream_k = true'
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx

// A kernel that spills, and that ptxas refuses without its wish for one block a multiprocessor, is compiled as it is: with
// stream-K, and accumulators twice, as fp16x3 has them, registers do not suffice.
// CHECK: [Missed] Spill
// CHECK-SAME: kernel 'f_run_tiled' spills
// CHECK-NOT: error:

// The wish is still there. A kernel that had been taken without would lack it: ptxas would ignore setmaxnreg (C7508).
// PTX: .entry f_run_tiled(
// PTX-NOT: .entry
// PTX: .minnctapersm 1
// PTX: setmaxnreg.inc.sync.aligned.u32 232;

func.func @f(%x: tensor<300x512xf32>, %w: tensor<4033x512xf32> {tenon.param}, %b: tensor<4033xf32> {tenon.param},
             %r: tensor<300x4033xf32>) -> tensor<300x4033xf32> {
  %0 = tenon.linear %x, %w, %b : (tensor<300x512xf32>, tensor<4033x512xf32>, tensor<4033xf32>) -> tensor<300x4033xf32>
  %1 = tenon.leaky_relu %0 {negative_slope = 0.1} : tensor<300x4033xf32>
  %2 = tenon.add %1, %r : tensor<300x4033xf32>, tensor<300x4033xf32>
  return %2 : tensor<300x4033xf32>
}
