// A product that marks what it has stored, and the kernel that normalises it beside.
// RUN: tenon-opt %s --tenon-emit-kernels --canonicalize --cse | FileCheck %s
// RUN: tenon-opt %s --tenon-emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=HOST

// An empty batch and pointers that are not aligned take kernels one after the other.
// HOST-LABEL: func.func @layer(
// HOST-SAME: %[[X:.*]]: memref<?x128xbf16>, %{{.*}}: memref<96x128xbf16>, %{{.*}}, %[[RESIDUAL:[a-z0-9]+]]: memref<?x96xbf16>, %[[Y:[a-z0-9]+]]: memref<?x96xbf16>)
// HOST: %[[M:.*]] = arith.index_cast %{{.*}} : index to i64
// HOST: %[[BLOCKS:.*]] = arith.ceildivui %[[M]], %c64_i64
// HOST: %[[ROWS:.*]] = arith.muli %[[BLOCKS]], %c2_i64
// An operand may lie in the output, which so cannot hold what is normalised.
// HOST: %[[Z:.*]] = memref.alloc(%{{.*}}) : memref<?x96xbf16>
// HOST: %[[ROWS_INDEX:.*]] = arith.index_cast %[[ROWS]]
// HOST: %[[MOMENTS:.*]] = memref.alloc(%[[ROWS_INDEX]]) : memref<?x96xf32>
// HOST: %[[PROGRESS:.*]] = memref.alloc(%{{.*}}) : memref<?xi8>
// HOST: %[[ALIGNED:.*]] = arith.cmpi eq
// HOST: %[[HAS_ROWS:.*]] = arith.cmpi ne, %[[M]], %c0_i64
// HOST: %[[SERVES:.*]] = arith.andi %[[ALIGNED]], %[[HAS_ROWS]]
// HOST: %[[FOUND:.*]] = memref.alloc() : memref<{{.*}}x96xf32>
// HOST: scf.if %[[SERVES]] {
// What comes after the norm, such as the residual, is no operand of the product.
// HOST: gpu.launch_func @kernels::@layer_tiled
// HOST-SAME: args(%[[X]] : {{[^%]*}}, %{{[^%]*}}, %[[Z]] : memref<?x96xbf16>, %[[X]] : {{[^%]*}}, %{{[^%]*}}, %{{[^%]*}}, %[[Z]] : memref<?x96xbf16>, %[[MOMENTS]] : memref<?x96xf32>, %[[PROGRESS]] : memref<?xi8>, %[[M]] : i64, %c0_i64 : i64)
// HOST-SAME: tenon.cluster = 2 : i64, tenon.persistent = 192 : i64
// HOST-SAME: tenon.waits_itself
// HOST: gpu.launch_func @kernels::@layer_finish
// HOST-SAME: %[[RESIDUAL]] : memref<?x96xbf16>, %[[Y]] : memref<?x96xbf16>
// HOST-SAME: tenon.persistent
// HOST-SAME: tenon.waits_itself
// HOST: } else {
// HOST: gpu.launch_func @kernels::@layer_tiled_unaligned
// HOST: gpu.launch_func @kernels::@layer_reduce
// HOST: gpu.launch_func @kernels::@layer_map

// CHECK-LABEL: llvm.func @layer_tiled(
// CHECK-SAME: nvvm.maxnreg = 152 : i32
// CHECK: nvvm.griddepcontrol wait
// Block 0 clears ticket and counters, each block the flags of its tiles: two of 64 rows each.
// CHECK: scf.if
// CHECK: scf.for
// CHECK-NEXT: arith.shli
// CHECK: "st.relaxed.gpu.global.b32 [$0], $1;"
// CHECK: scf.for
// CHECK-COUNT-2: "st.relaxed.gpu.global.b32 [$0], $1;"
// Then the next kernel may start.
// CHECK: "fence.acq_rel.gpu;"
// CHECK-NEXT: nvvm.barrier0
// CHECK-NEXT: nvvm.griddepcontrol launch_dependents
// CHECK: nvvm.setmaxregister decrease 40
// Tiles go through a group of two column tiles row by row.
// CHECK: nvvm.setmaxregister increase 208
// CHECK: nvvm.wgmma.mma_async
// Before the first subtile is stored, the tile before is in memory; it is marked when that is on its way.
// CHECK: nvvm.cp.async.bulk.wait_group 0{{$}}
// CHECK: "bar.sync $0, 128;"
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK: nvvm.cp.async.bulk.commit.group
// CHECK: scf.if
// CHECK-NEXT: "fence.acq_rel.gpu;"
// CHECK: "st.relaxed.gpu.global.b32 [$0], $1;"
// CHECK-NOT: "st.relaxed.gpu.global.b32 [$0], $1;"
// The last tile.
// CHECK: nvvm.cp.async.bulk.wait_group 0{{$}}
// CHECK: "bar.sync $0, 128;"
// CHECK: "fence.acq_rel.gpu;"
// CHECK: "st.relaxed.gpu.global.b32 [$0], $1;"
// CHECK: nvvm.cluster.arrive

// The kernel beside does not wait before it has nothing left to do, and lets nothing start earlier.
// CHECK-LABEL: llvm.func @layer_finish(
// CHECK-NOT: nvvm.griddepcontrol
// CHECK: atom.relaxed.gpu.global.add.u32
// CHECK-NOT: nvvm.griddepcontrol
// CHECK: ld.relaxed.gpu.global.v4.b32
// CHECK: nvvm.griddepcontrol wait
// CHECK-NOT: nvvm.griddepcontrol
// CHECK-LABEL: llvm.func @layer_tiled_unaligned(
func.func @layer(%x: memref<?x128xbf16>, %w: memref<96x128xbf16>, %mean: memref<96xf32>, %var: memref<96xf32>, %scale: memref<96xf32>,
                 %r: memref<?x96xbf16>, %y: memref<?x96xbf16>) {
  tenon.tiled_linear %x, %w : memref<?x128xbf16>, memref<96x128xbf16>
      epilogue(%acc: tensor<?x96xbf16>, %s = %scale: memref<96xf32>, %m = %mean: memref<96xf32>, %v = %var: memref<96xf32>, %res = %r: memref<?x96xbf16>)
      outs(%y: memref<?x96xbf16>, %mean: memref<96xf32>, %var: memref<96xf32>)
      schedule<wgmma, tile = 128x32x64, warps = 8x1, stages = 4, swizzle = 128, raster = 2, blocks = 1,
               cluster = 2x1, reduction = trailing> {
    %a = tenon.mul %acc, %s : tensor<?x96xbf16>, tensor<96xf32>
    %0:3 = tenon.batch_norm_training %a running(%m, %v)
        : (tensor<?x96xbf16>, tensor<96xf32>, tensor<96xf32>) -> (tensor<?x96xbf16>, tensor<96xf32>, tensor<96xf32>)
    %1 = tenon.relu %0#0 : tensor<?x96xbf16>
    %2 = tenon.add %1, %res : tensor<?x96xbf16>, tensor<?x96xbf16>
    tenon.yield %2, %0#1, %0#2 : tensor<?x96xbf16>, tensor<96xf32>, tensor<96xf32>
  }
  return
}

// What is normalised lies in the output, where no operand can. Extents that are known make temporaries of known size:
// 3 rows of moments for 64 of f32, and 64 + 4 panels of 16 flags.
// HOST-LABEL: func.func @in_place(
// HOST-SAME: %[[Y:[a-z0-9]+]]: memref<768x128xf32>)
// HOST-NOT: memref<768x128xf32>
// HOST-DAG: %[[MOMENTS:.*]] = memref.alloc() : memref<36x128xf32>
// HOST-DAG: %[[PROGRESS:.*]] = memref.alloc() : memref<512xi8>
// HOST: gpu.launch_func @kernels::@in_place_tiled
// HOST-SAME: %[[Y]] : memref<768x128xf32>, %[[MOMENTS]] : memref<36x128xf32>, %[[PROGRESS]] : memref<512xi8>
// HOST: gpu.launch_func @kernels::@in_place_finish
// HOST-SAME: args(%[[Y]] : memref<768x128xf32>, %[[Y]] : memref<768x128xf32>

// Ping-pong: a warpgroup has both rows of 64 of a tile.
// CHECK-LABEL: llvm.func @in_place_tiled(
// CHECK: nvvm.griddepcontrol launch_dependents
// CHECK: nvvm.cp.async.bulk.commit.group
// CHECK: "fence.acq_rel.gpu;"
// CHECK-COUNT-2: "st.relaxed.gpu.global.b32 [$0], $1;"
func.func @in_place(%x: memref<768x128xf32>, %w: memref<128x128xf32>, %y: memref<768x128xf32>) {
  tenon.tiled_linear %x, %w : memref<768x128xf32>, memref<128x128xf32>
      epilogue(%acc: tensor<768x128xf32>) outs(%y: memref<768x128xf32>)
      schedule<wgmma, tile = 128x32x32, warps = 4x1, stages = 4, swizzle = 128, raster = 2, blocks = 1,
               ping_pong = true, reduction = trailing> {
    %0 = tenon.batch_norm_training %acc : (tensor<768x128xf32>) -> tensor<768x128xf32>
    tenon.yield %0 : tensor<768x128xf32>
  }
  return
}
