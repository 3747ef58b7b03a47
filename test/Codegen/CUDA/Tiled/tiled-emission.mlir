// tenon.tiled_linear becomes a kernel that has what its shape and schedule need, and not what they do not.
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s --implicit-check-not=tenon.tiled_linear

// The host looks at every pointer, the workspace's too. A launch has as many
// threads as its kernel, which takes x, w, inputs, outputs, workspace, M and
// token. Only the aligned kernel streams: 200 columns are 4 tiles, K = 1024 is
// 16 K tiles, so up to 4 blocks share a tile.
// CHECK: module attributes {gpu.container_module, tenon.kernels = ["layer_tiled", "layer_tiled_unaligned"]}
// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[X:.*]]: memref<?x1024xbf16>, %[[W:.*]]: memref<200x1024xbf16>, %[[B:.*]]: memref<200xf32>, %[[Y:.*]]: memref<?x200xbf16>, %[[Z:.*]]: memref<?x200xf32>, %[[WS:.*]]: memref<6292992xi8>
// CHECK-DAG: %[[DIM:.*]] = memref.dim %[[X]]
// CHECK-DAG: %[[M:.*]] = arith.index_cast %[[DIM]] : index to i64
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[X]]
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[W]]
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[B]]
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[Y]]
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[Z]]
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[WS]]
// CHECK: %[[BITS:.*]] = arith.andi %{{.*}}, %c15_i64
// CHECK: %[[ALIGNED:.*]] = arith.cmpi eq, %[[BITS]], %c0_i64
// CHECK: scf.if %[[ALIGNED]]
// CHECK: %[[ROWS:.*]] = arith.divui %{{.*}}, %c128_i64
// CHECK: %[[WORK:.*]] = arith.muli %[[ROWS]], %c16_i64
// CHECK: %[[FITS:.*]] = arith.select %{{.*}}, %[[WORK]], %c-1_i64
// CHECK: %[[BLOCKS:.*]] = arith.index_cast %[[FITS]]
// CHECK: tenon.launch @kernels::@layer_tiled blocks(%[[BLOCKS]]) threads(%c[[#THREADS:]]) shared(%c{{[1-9][0-9]*}}_i32) args(%[[X]] : {{.*}}, %[[W]] : {{.*}}, %[[B]] : {{.*}}, %[[Y]] : {{.*}}, %[[Z]] : {{.*}}, %[[WS]] : {{.*}}, %[[M]] : i64, %c0_i64 : i64) {persistent = 192 : i64}
// CHECK: else
// CHECK: %[[ROWS:.*]] = arith.divui %{{.*}}, %c64_i64
// CHECK: %[[WORK:.*]] = arith.muli %[[ROWS]], %c4_i64
// CHECK: %[[FITS:.*]] = arith.select %{{.*}}, %[[WORK]], %c-1_i64
// CHECK: %[[BLOCKS:.*]] = arith.index_cast %[[FITS]]
// CHECK: tenon.launch @kernels::@layer_tiled_unaligned blocks(%[[BLOCKS]]) threads(%c[[#UNALIGNED:]]) shared(%c{{[1-9][0-9]*}}_i32) args(%[[X]] : {{.*}}, %[[W]] : {{.*}}, %[[B]] : {{.*}}, %[[Y]] : {{.*}}, %[[Z]] : {{.*}}, %[[WS]] : {{.*}}, %[[M]] : i64, %c0_i64 : i64) {persistent = 384 : i64}
// CHECK-LABEL: llvm.func @layer_tiled(
// CHECK-SAME: !llvm.ptr<1>, %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: !llvm.ptr<1>, %{{[^:]*}}: i64, %{{[^:]*}}: i64) attributes {gpu.kernel, nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: [[#THREADS]]>}
// What other blocks computed is added, or this block's part handed over.
// CHECK-DAG: ld.acquire.gpu
// CHECK-DAG: fence.acq_rel.gpu
// 8 elements of a row at a time, f32 in two parts.
// CHECK-DAG: @p st.global.v4.b32 [$0], {$2, $3, $4, $5}
// CHECK-LABEL: llvm.func @layer_tiled_unaligned(
// CHECK-SAME: nvvm.minctasm = 2 : i32, nvvm.reqntid = array<i32: [[#UNALIGNED]]>
// CHECK-NOT: acquire
// CHECK-NOT: st.global.v
// CHECK-NOT: fence.acq_rel
func.func @layer(%x: memref<?x1024xbf16>, %w: memref<200x1024xbf16>, %b: memref<200xf32>, %y: memref<?x200xbf16>, %z: memref<?x200xf32>, %ws: memref<6292992xi8>) {
  tenon.tiled_linear %x, %w : memref<?x1024xbf16>, memref<200x1024xbf16>
      epilogue(%acc: tensor<?x200xf32>, %bias = %b: memref<200xf32>)
      outs(%y: memref<?x200xbf16>, %z: memref<?x200xf32>) workspace(%ws: memref<6292992xi8>)
      schedule<mma_sync, tile = 128x64x64, warps = 4x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true> {
    %0 = tenon.add %acc, %bias : tensor<?x200xf32>, tensor<200xf32>
    %1 = tenon.cast %0 : tensor<?x200xf32> -> tensor<?x200xbf16>
    tenon.yield %1, %0 : tensor<?x200xbf16>, tensor<?x200xf32>
  }
  return
}

// -----

// The grid of a known M: 2 x 4 tiles, each of 4 parts with stream-K; with it,
// fewer K tiles than make a part are not divided.
// CHECK-LABEL: func.func @grids
// CHECK: tenon.launch @kernels::@grids_tiled blocks(%c8)
// CHECK: tenon.launch @kernels::@grids_tiled_1 blocks(%c32)
// CHECK: tenon.launch @kernels::@grids_tiled_2 blocks(%c8)
// Without stream-K no block waits for another.
// CHECK: llvm.func @grids_tiled(
// CHECK-NOT: acquire
// CHECK-NOT: fence
// CHECK: llvm.func @grids_tiled_unaligned(
// CHECK: llvm.func @grids_tiled_1(
// CHECK: acquire
func.func @grids(%x: memref<100x1024xf16>, %w: memref<200x1024xf16>, %s: memref<100x64xf16>, %v: memref<200x64xf16>, %y: memref<100x200xf16>, %ws: memref<3147264xi8>) {
  tenon.tiled_linear %x, %w : memref<100x1024xf16>, memref<200x1024xf16>
      epilogue(%acc: tensor<100x200xf16>) outs(%y: memref<100x200xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<100x200xf16>
  }
  tenon.tiled_linear %x, %w : memref<100x1024xf16>, memref<200x1024xf16>
      epilogue(%acc: tensor<100x200xf16>) outs(%y: memref<100x200xf16>) workspace(%ws: memref<3147264xi8>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true> {
    tenon.yield %acc : tensor<100x200xf16>
  }
  tenon.tiled_linear %s, %v : memref<100x64xf16>, memref<200x64xf16>
      epilogue(%acc: tensor<100x200xf16>) outs(%y: memref<100x200xf16>) workspace(%ws: memref<3147264xi8>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true> {
    tenon.yield %acc : tensor<100x200xf16>
  }
  return
}

// -----

// The instruction of each type, on what ldmatrix loaded as it is: f32 comes
// rounded to tf32.
// CHECK: llvm.func @f16_tiled(
// CHECK-NOT: "{{cvt.rna.tf32|fma.rn}}
// CHECK: nvvm.ldmatrix {{.*}}num = 4
// CHECK-NOT: "{{cvt.rna.tf32|fma.rn}}
// CHECK: nvvm.mma.sync {{.*}}layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
// CHECK-NOT: "{{cvt.rna.tf32|fma.rn}}
// CHECK: llvm.func @bf16_tiled(
// CHECK-NOT: "{{cvt.rna.tf32|fma.rn}}
// CHECK: nvvm.ldmatrix {{.*}}num = 4
// CHECK-NOT: "{{cvt.rna.tf32|fma.rn}}
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32)
// CHECK-NOT: "{{cvt.rna.tf32|fma.rn}}
// CHECK: llvm.func @f32_tiled(
// CHECK-NOT: "{{cvt.rna.tf32|fma.rn}}
// CHECK: nvvm.ldmatrix {{.*}}num = 4
// CHECK-NOT: "{{cvt.rna.tf32|fma.rn}}
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>, multiplicandBPtxType = #nvvm.mma_type<tf32>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (i32, i32, f32)
// CHECK-NOT: "{{cvt.rna.tf32|fma.rn}}
// CHECK: llvm.func @f32_tiled_unaligned(
func.func @f16(%x: memref<?x128xf16>, %w: memref<128x128xf16>, %y: memref<?x128xf16>) {
  tenon.tiled_linear %x, %w : memref<?x128xf16>, memref<128x128xf16>
      epilogue(%acc: tensor<?x128xf16>) outs(%y: memref<?x128xf16>)
      schedule<mma_sync, tile = 16x128x64, warps = 1x4, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x128xf16>
  }
  return
}
func.func @bf16(%x: memref<?x128xbf16>, %w: memref<128x128xbf16>, %y: memref<?x128xbf16>) {
  tenon.tiled_linear %x, %w : memref<?x128xbf16>, memref<128x128xbf16>
      epilogue(%acc: tensor<?x128xbf16>) outs(%y: memref<?x128xbf16>)
      schedule<mma_sync, tile = 16x128x64, warps = 1x4, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x128xbf16>
  }
  return
}
func.func @f32(%x: memref<?x128xf32>, %w: memref<128x128xf32>, %y: memref<?x128xf32>) {
  tenon.tiled_linear %x, %w : memref<?x128xf32>, memref<128x128xf32>
      epilogue(%acc: tensor<?x128xf32>) outs(%y: memref<?x128xf32>)
      schedule<mma_sync, tile = 16x128x32, warps = 1x4, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x128xf32>
  }
  return
}

// -----

// Copies are as wide as the alignment of a row of K elements allows, and K's
// tail, where it has one, is filled with zeros: cp.async is told how many bytes
// to read. Where pointers may be unaligned, an element is all that is sure.
// CHECK: llvm.func @whole_tiled(
// CHECK-NOT: cp.async.ca
// CHECK-NOT: ], 16, $
// CHECK: cp.async.cg.shared.global{{[^[]*}} [{{[^]]*}}], [{{[^]]*}}], 16; }
// CHECK-NOT: cp.async.ca
// CHECK-NOT: ], 16, $
// CHECK: llvm.func @whole_tiled_unaligned(
// CHECK-NOT: cp.async.c{{[ag]}}
// CHECK: mov.b16 [[E:[a-z]+[0-9]+]], 0;{{.*}} ld.global.b16 [[E]], [$1+0]; {{.*}}st.shared.v4
// CHECK-NOT: cp.async.c{{[ag]}}
// CHECK: llvm.func @tail_tiled(
// CHECK-NOT: cp.async.ca
// CHECK-NOT: ], 16;
// CHECK: cp.async.cg.shared.global{{[^[]*}} [{{[^]]*}}], [{{[^]]*}}], 16, $
// CHECK-NOT: cp.async.ca
// CHECK-NOT: ], 16;
// CHECK: llvm.func @tail_tiled_unaligned(
// CHECK: llvm.func @by_8_tiled(
// CHECK-NOT: cp.async.cg
// CHECK: cp.async.ca.shared.global{{[^[]*}} [{{[^]]*}}], [{{[^]]*}}], 8, {{[a-z]+}}; }
// CHECK-NOT: cp.async.cg
// CHECK: llvm.func @by_8_tiled_unaligned(
// CHECK: llvm.func @by_4_tiled(
// CHECK-NOT: cp.async.cg
// CHECK: cp.async.ca.shared.global{{[^[]*}} [{{[^]]*}}], [{{[^]]*}}], 4, {{[a-z]+}}; }
// CHECK-NOT: cp.async.cg
// CHECK: llvm.func @by_4_tiled_unaligned(
// CHECK: llvm.func @by_element_tiled(
// CHECK-NOT: cp.async.c{{[ag]}}
// CHECK: ld.global.b16
// CHECK-NOT: cp.async.c{{[ag]}}
// CHECK: llvm.func @by_element_tiled_unaligned(
// CHECK: llvm.func @f32_tiled(
// CHECK-NOT: cp.async.ca
// CHECK: cp.async.cg
// CHECK-NOT: cp.async.ca
// CHECK: llvm.func @f32_tiled_unaligned(
// CHECK-NOT: cp.async.cg
// CHECK: cp.async.ca.shared.global{{[^[]*}} [{{[^]]*}}], [{{[^]]*}}], 4; }
// CHECK-NOT: cp.async.cg
// CHECK: llvm.func @f32_odd_tiled(
// CHECK-NOT: cp.async.cg
// CHECK: cp.async.ca.shared.global{{[^[]*}} [{{[^]]*}}], [{{[^]]*}}], 4, {{[a-z]+}}; }
// CHECK-NOT: cp.async.cg
// CHECK: llvm.func @f32_odd_tiled_unaligned(
func.func @whole(%x: memref<?x128xf16>, %w: memref<64x128xf16>, %y: memref<?x64xf16>) {
  tenon.tiled_linear %x, %w : memref<?x128xf16>, memref<64x128xf16>
      epilogue(%acc: tensor<?x64xf16>) outs(%y: memref<?x64xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x64xf16>
  }
  return
}
func.func @tail(%x: memref<?x72xf16>, %w: memref<64x72xf16>, %y: memref<?x64xf16>) {
  tenon.tiled_linear %x, %w : memref<?x72xf16>, memref<64x72xf16>
      epilogue(%acc: tensor<?x64xf16>) outs(%y: memref<?x64xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x64xf16>
  }
  return
}
func.func @by_8(%x: memref<?x68xf16>, %w: memref<64x68xf16>, %y: memref<?x64xf16>) {
  tenon.tiled_linear %x, %w : memref<?x68xf16>, memref<64x68xf16>
      epilogue(%acc: tensor<?x64xf16>) outs(%y: memref<?x64xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x64xf16>
  }
  return
}
func.func @by_4(%x: memref<?x66xf16>, %w: memref<64x66xf16>, %y: memref<?x64xf16>) {
  tenon.tiled_linear %x, %w : memref<?x66xf16>, memref<64x66xf16>
      epilogue(%acc: tensor<?x64xf16>) outs(%y: memref<?x64xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x64xf16>
  }
  return
}
func.func @by_element(%x: memref<?x65xf16>, %w: memref<64x65xf16>, %y: memref<?x64xf16>) {
  tenon.tiled_linear %x, %w : memref<?x65xf16>, memref<64x65xf16>
      epilogue(%acc: tensor<?x64xf16>) outs(%y: memref<?x64xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x64xf16>
  }
  return
}
func.func @f32(%x: memref<?x128xf32>, %w: memref<64x128xf32>, %y: memref<?x64xf32>) {
  tenon.tiled_linear %x, %w : memref<?x128xf32>, memref<64x128xf32>
      epilogue(%acc: tensor<?x64xf32>) outs(%y: memref<?x64xf32>)
      schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x64xf32>
  }
  return
}
func.func @f32_odd(%x: memref<?x65xf32>, %w: memref<64x65xf32>, %y: memref<?x64xf32>) {
  tenon.tiled_linear %x, %w : memref<?x65xf32>, memref<64x65xf32>
      epilogue(%acc: tensor<?x64xf32>) outs(%y: memref<?x64xf32>)
      schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x64xf32>
  }
  return
}

// -----

// Stores are predicated exactly where tiles reach beyond M or N. 8 elements are
// stored at a time, or as many as divide N; of one row, one store a warp.
// CHECK: llvm.func @even_tiled(
// CHECK-NOT: @p st.global
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : {{.*}}, !llvm.ptr<1>
// CHECK-NOT: @p st.global
// CHECK: llvm.func @even_tiled_unaligned(
// CHECK: llvm.func @ragged_n_tiled(
// CHECK-NOT: llvm.store %{{.*}}, !llvm.ptr<1>
// CHECK: @p st.global.v2.b32
// CHECK-NOT: llvm.store %{{.*}}, !llvm.ptr<1>
// CHECK: llvm.func @ragged_n_tiled_unaligned(
// CHECK: @p st.global.b16
// CHECK: llvm.func @ragged_m_tiled(
// CHECK-NOT: llvm.store %{{.*}}, !llvm.ptr<1>
// CHECK: @p st.global.v4.b32
// CHECK-NOT: llvm.store %{{.*}}, !llvm.ptr<1>
// CHECK: llvm.func @ragged_m_tiled_unaligned(
// CHECK: llvm.func @any_m_tiled(
// CHECK-NOT: llvm.store %{{.*}}, !llvm.ptr<1>
// CHECK: @p st.global.v4.b32
// CHECK-NOT: llvm.store %{{.*}}, !llvm.ptr<1>
// CHECK: llvm.func @any_m_tiled_unaligned(
// CHECK: llvm.func @one_row_tiled(
// CHECK: @p st.global
// CHECK-NOT: st.global
// CHECK: llvm.func @one_row_tiled_unaligned(
func.func @even(%x: memref<128x128xf16>, %w: memref<128x128xf16>, %y: memref<128x128xf16>) {
  tenon.tiled_linear %x, %w : memref<128x128xf16>, memref<128x128xf16>
      epilogue(%acc: tensor<128x128xf16>) outs(%y: memref<128x128xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<128x128xf16>
  }
  return
}
func.func @ragged_n(%x: memref<128x128xf16>, %w: memref<100x128xf16>, %y: memref<128x100xf16>) {
  tenon.tiled_linear %x, %w : memref<128x128xf16>, memref<100x128xf16>
      epilogue(%acc: tensor<128x100xf16>) outs(%y: memref<128x100xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<128x100xf16>
  }
  return
}
func.func @ragged_m(%x: memref<100x128xf16>, %w: memref<128x128xf16>, %y: memref<100x128xf16>) {
  tenon.tiled_linear %x, %w : memref<100x128xf16>, memref<128x128xf16>
      epilogue(%acc: tensor<100x128xf16>) outs(%y: memref<100x128xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<100x128xf16>
  }
  return
}
func.func @any_m(%x: memref<?x128xf16>, %w: memref<128x128xf16>, %y: memref<?x128xf16>) {
  tenon.tiled_linear %x, %w : memref<?x128xf16>, memref<128x128xf16>
      epilogue(%acc: tensor<?x128xf16>) outs(%y: memref<?x128xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x128xf16>
  }
  return
}
func.func @one_row(%x: memref<1x128xf16>, %w: memref<128x128xf16>, %y: memref<1x128xf16>) {
  tenon.tiled_linear %x, %w : memref<1x128xf16>, memref<128x128xf16>
      epilogue(%acc: tensor<1x128xf16>) outs(%y: memref<1x128xf16>)
      schedule<mma_sync, tile = 16x128x64, warps = 1x4, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<1x128xf16>
  }
  return
}

// -----

// With odd N and K both kernels would go element by element: one is enough.
// CHECK: tenon.kernels = ["odd_tiled_unaligned"]
// CHECK-LABEL: func.func @odd(
// CHECK-NOT: scf.if
// CHECK: tenon.launch @kernels::@odd_tiled_unaligned
// CHECK-NOT: tenon.launch
// CHECK: return
func.func @odd(%x: memref<?x65xbf16>, %w: memref<7x65xbf16>, %y: memref<?x7xbf16>) {
  tenon.tiled_linear %x, %w : memref<?x65xbf16>, memref<7x65xbf16>
      epilogue(%acc: tensor<?x7xbf16>) outs(%y: memref<?x7xbf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<?x7xbf16>
  }
  return
}
