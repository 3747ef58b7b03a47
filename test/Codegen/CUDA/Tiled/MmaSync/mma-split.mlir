// What kernels of mma.sync do with rows that tenon.split gave.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s

// The parts of a row are 64 bytes apart; the first k-step of each is loaded
// before the loop, w's blocks first.
// CHECK-LABEL: llvm.func @three_tiled(
// CHECK-SAME: %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: !llvm.ptr<1>, %[[FX:[^:]*]]: !llvm.ptr<1>, %[[FW:[^:]*]]: !llvm.ptr<1>,
// CHECK: nvvm.barrier0
// CHECK: %[[ADDRESS:.*]] = llvm.ptrtoint
// CHECK: %[[HI:.*]] = llvm.inttoptr %[[ADDRESS]] : i32
// CHECK: nvvm.ldmatrix %[[HI]]
// CHECK: %[[FURTHER:.*]] = arith.xori %[[ADDRESS]], %c64_i32
// CHECK: %[[LO:.*]] = llvm.inttoptr %[[FURTHER]] : i32
// CHECK: nvvm.ldmatrix %[[LO]]
// CHECK-COUNT-4: nvvm.ldmatrix
// Two k-steps a stage. A warp's 16x32 are four blocks, whose products start
// from zero, lo hi first, then hi lo and hi hi.
// CHECK: scf.for {{.*}} iter_args({{.*}} = %[[ZERO:cst[_0-9]*]],
// CHECK: %[[LOHI:.*]] = nvvm.mma.sync A[%[[XLO:[^,]*]], {{.*}}]  B[%[[WHI:[^,]*]], {{.*}}]  C[%[[ZERO]], %[[ZERO]], %[[ZERO]], %[[ZERO]]]
// CHECK: %[[FIRST:.*]] = llvm.extractvalue %[[LOHI]][0]
// CHECK-COUNT-3: nvvm.mma.sync A[%[[XLO]], {{.*}} C[%[[ZERO]], %[[ZERO]], %[[ZERO]], %[[ZERO]]]
// CHECK: %[[HILO:.*]] = nvvm.mma.sync A[%[[XHI:[^,]*]], {{.*}} C[%[[FIRST]],
// CHECK: %[[SECOND:.*]] = llvm.extractvalue %[[HILO]][0]
// CHECK-COUNT-3: nvvm.mma.sync A[%[[XHI]],
// CHECK: %[[HIHI:.*]] = nvvm.mma.sync A[%[[XHI]], {{.*}} B[%[[WHI]], {{.*}} C[%[[SECOND]],
// CHECK: %[[THIRD:.*]] = llvm.extractvalue %[[HIHI]][0]
// CHECK-COUNT-3: nvvm.mma.sync A[%[[XHI]],
// Rounded additions, and nothing may be left out of them or joined.
// CHECK: arith.addf %{{.*}}, %[[THIRD]] : f32
// CHECK-COUNT-15: arith.addf %{{[^,]*}}, %{{[^ ]*}} : f32
// CHECK: nvvm.barrier0
// CHECK-COUNT-12: nvvm.mma.sync
// CHECK-COUNT-16: arith.addf %{{[^,]*}}, %{{[^ ]*}} : f32
// CHECK-NEXT: scf.yield
// The scale comes before all else: fw, then fx.
// CHECK: llvm.getelementptr %[[FW]]
// CHECK-NEXT: %[[OFCOLUMNS:.*]] = llvm.load
// CHECK-NEXT: %[[OFCOLUMN:.*]] = vector.extract %[[OFCOLUMNS]][0]
// CHECK: llvm.getelementptr %[[FX]]
// CHECK-NEXT: %[[OFROW:.*]] = llvm.load
// CHECK: %[[ONCE:.*]] = arith.mulf %{{.*}}, %[[OFCOLUMN]]
// CHECK-NEXT: %[[TWICE:.*]] = arith.mulf %[[ONCE]], %[[OFROW]]
// CHECK-NEXT: arith.addf %[[TWICE]],
// CHECK: llvm.func @three_tiled_unaligned(
// CHECK: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32)
func.func @three(%x: memref<?x128xf16>, %w: memref<48x128xf16>, %fx: memref<?x1xf32>, %fw: memref<48x1xf32>, %b: memref<48xf32>, %y: memref<?x48xf32>) {
  tenon.tiled_linear %x, %w : memref<?x128xf16>, memref<48x128xf16> factors(%fx, %fw : memref<?x1xf32>, memref<48x1xf32>)
      epilogue(%acc: tensor<?x48xf32>, %bias = %b: memref<48xf32>) outs(%y: memref<?x48xf32>)
      schedule<mma_sync, tile = 32x32x64, warps = 2x1, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3> {
    %0 = tenon.add %acc, %bias : tensor<?x48xf32>, tensor<48xf32>
    tenon.yield %0 : tensor<?x48xf32>
  }
  return
}

// -----

// One part: four k-steps of one product, as of other f16, but for the scale.
// CHECK-LABEL: llvm.func @one_tiled(
// CHECK-SAME: %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: !llvm.ptr<1>, %[[FX:[^:]*]]: !llvm.ptr<1>, %[[FW:[^:]*]]: !llvm.ptr<1>,
// CHECK: scf.for
// CHECK-COUNT-16: nvvm.mma.sync
// CHECK-NOT: {{nvvm.mma.sync|arith.addf}}
// CHECK: scf.yield
// CHECK: llvm.getelementptr %[[FW]]
// CHECK-NEXT: %[[OFCOLUMNS:.*]] = llvm.load
// CHECK-NEXT: %[[OFCOLUMN:.*]] = vector.extract %[[OFCOLUMNS]][0]
// CHECK: llvm.getelementptr %[[FX]]
// CHECK-NEXT: %[[OFROW:.*]] = llvm.load
// CHECK: %[[ONCE:.*]] = arith.mulf %{{.*}}, %[[OFCOLUMN]]
// CHECK-NEXT: arith.mulf %[[ONCE]], %[[OFROW]]
// CHECK: llvm.func @one_tiled_unaligned(
func.func @one(%x: memref<?x128xf16>, %w: memref<48x128xf16>, %fx: memref<?x1xf32>, %fw: memref<48x1xf32>, %y: memref<?x48xf32>) {
  tenon.tiled_linear %x, %w : memref<?x128xf16>, memref<48x128xf16> factors(%fx, %fw : memref<?x1xf32>, memref<48x1xf32>)
      epilogue(%acc: tensor<?x48xf32>) outs(%y: memref<?x48xf32>)
      schedule<mma_sync, tile = 32x32x64, warps = 2x1, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16> {
    tenon.yield %acc : tensor<?x48xf32>
  }
  return
}
