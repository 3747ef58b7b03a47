// A resident kernel holds all of a tile: operands of one value a row are loaded for all of its rows.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels | FileCheck %s

// A lane loads one row in 32 of 256 beside the next turn's products, and after the last turn.
// CHECK-LABEL: llvm.func @resident_rows_tiled(
// CHECK-SAME: %{{[^:]*}}: {{[^}]*}}}, %{{[^:]*}}: {{[^}]*}}}, %{{[^:]*}}: {{[^}]*}}}, %{{[^:]*}}: {{[^,]*}}, %{{[^:]*}}: {{[^,]*}}, %{{[^:]*}}: {{[^,]*}}, %{{[^:]*}}: {{[^,]*}}, %[[ROWS:[^:]*]]:
// CHECK: %{{.*}}:66 = scf.while (
// CHECK: setp.ne.b32 adds, 0, 0;{{.*}}wgmma.commit_group.sync.aligned;{{.*}}
// CHECK-COUNT-8: llvm.getelementptr %[[ROWS]][
// CHECK-NOT: llvm.getelementptr %[[ROWS]][
// CHECK: nvvm.stmatrix
// CHECK-NOT: llvm.getelementptr %[[ROWS]][
// CHECK: scf.yield %{{.*}} : i32, !llvm.struct
// CHECK-COUNT-8: llvm.getelementptr %[[ROWS]][
// CHECK-NOT: llvm.getelementptr %[[ROWS]][
// CHECK: llvm.func @resident_rows_tiled_unaligned(
func.func @resident_rows(%x: memref<512x2560xbf16>, %w: memref<256x2560xbf16>, %mean: memref<256xf32>,
                         %var: memref<256xf32>, %s: memref<512x1xf32>, %y: memref<512x256xbf16>,
                         %space: memref<1574400xi8>) {
  tenon.tiled_linear %x, %w : memref<512x2560xbf16>, memref<256x2560xbf16>
      epilogue(%acc: tensor<512x256xf32>, %m = %mean: memref<256xf32>, %v = %var: memref<256xf32>,
               %row = %s: memref<512x1xf32>)
      outs(%y: memref<512x256xbf16>, %mean: memref<256xf32>, %var: memref<256xf32>)
      workspace(%space: memref<1574400xi8>)
      schedule<wgmma, tile = 256x128x64, warps = 1x8, stages = 4, swizzle = 128, raster = 8, blocks = 1,
               cluster = 2x1, defer = true, reduction = resident> {
    %0:3 = tenon.batch_norm_training %acc running(%m, %v)
        : (tensor<512x256xf32>, tensor<256xf32>, tensor<256xf32>)
        -> (tensor<512x256xf32>, tensor<256xf32>, tensor<256xf32>)
    %1 = tenon.mul %0#0, %row : tensor<512x256xf32>, tensor<512x1xf32>
    %2 = tenon.cast %1 : tensor<512x256xf32> -> tensor<512x256xbf16>
    tenon.yield %2, %0#1, %0#2 : tensor<512x256xbf16>, tensor<256xf32>, tensor<256xf32>
  }
  return
}
