// RUN: tenon-opt %s --tenon-cpu-matmul --canonicalize --split-input-file | FileCheck %s
// RUN: tenon-opt %s --tenon-cpu-matmul=vector-bits=512 --canonicalize --split-input-file | FileCheck %s --check-prefix=WIDE

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>

// K is cut into blocks of 256; the last one is shorter. 48 columns are 3 whole
// panels, so nothing is masked.

// CHECK-LABEL: func.func @f32(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x300xf32>, %[[W:[^:]*]]: memref<48x300xf32>, %[[Y:[^:]*]]: memref<?x48xf32>
// CHECK: scf.parallel
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<3x256x16xf32>
// CHECK-DAG: %[[PX:.*]] = memref.alloca() {alignment = 64 : i64} : memref<96x256xf32>
// CHECK: scf.for %[[K:.*]] = %c0 to %c300 step %c256
// CHECK: %[[LENGTH:.*]] = arith.minsi
// CHECK: memref.load %[[W]]
// CHECK: vector.load %[[X]]{{.*}} : memref<?x300xf32>, vector<8xf32>
// CHECK: %[[TILE:.*]]:12 = scf.for %{{.*}} = %c0 to %[[LENGTH]] step %c1 iter_args
// CHECK-COUNT-2: vector.load {{.*}} : memref<3x256x16xf32>, vector<8xf32>
// CHECK: memref.load %[[PX]]
// CHECK: arith.mulf {{.*}} fastmath<contract> : vector<8xf32>
// CHECK-NEXT: arith.addf {{.*}} fastmath<contract> : vector<8xf32>
// CHECK: vector.store {{.*}}, %[[Y]]
// CHECK-NOT: vector.maskedstore
// CHECK-NOT: linalg
// CHECK: return

// WIDE-LABEL: func.func @f32(
// WIDE: memref<2x256x32xf32>
// WIDE: :24 = scf.for {{.*}} -> (vector<16xf32>,
func.func @f32(%x: memref<?x300xf32>, %w: memref<48x300xf32>, %y: memref<?x48xf32>) {
  linalg.matmul indexing_maps = [#x, #w, #y] ins(%x, %w : memref<?x300xf32>, memref<48x300xf32>) outs(%y : memref<?x48xf32>)
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>

// Operands of 16 bits are extended as they are packed; a last, partial panel is
// written under a mask.

// CHECK-LABEL: func.func @bf16_edge(
// CHECK: memref<2x5x16xf32>
// CHECK: memref.load {{.*}} : memref<19x5xbf16>
// CHECK-NEXT: arith.extf {{.*}} : bf16 to f32
// CHECK: vector.create_mask
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
func.func @bf16_edge(%x: memref<7x5xbf16>, %w: memref<19x5xbf16>, %y: memref<7x19xf32>) {
  linalg.matmul indexing_maps = [#x, #w, #y] ins(%x, %w : memref<7x5xbf16>, memref<19x5xbf16>) outs(%y : memref<7x19xf32>)
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func @f64(
// CHECK: -> (vector<4xf64>,
func.func @f64(%x: memref<7x5xf64>, %w: memref<8x5xf64>, %y: memref<7x8xf64>) {
  linalg.matmul indexing_maps = [#x, #w, #y] ins(%x, %w : memref<7x5xf64>, memref<8x5xf64>) outs(%y : memref<7x8xf64>)
  return
}

// -----

// w is [K, N] here: left to --tenon-cpu-loops.

// CHECK-LABEL: func.func @not_transposed(
// CHECK: linalg.matmul
func.func @not_transposed(%x: memref<7x5xf32>, %w: memref<5x8xf32>, %y: memref<7x8xf32>) {
  linalg.matmul ins(%x, %w : memref<7x5xf32>, memref<5x8xf32>) outs(%y : memref<7x8xf32>)
  return
}

// -----

// Each head of each batch is a product; its matrices are read where they are,
// and w, which is [K, N], turned.

// CHECK-LABEL: func.func @batch(
// CHECK-SAME: %[[X:[^:]*]]: memref<2x9x3x5xf32>, %[[W:[^:]*]]: memref<2x3x5x8xf32>
// CHECK: scf.parallel (%[[B:[^,]*]], %[[H:[^)]*]]) = (%c0, %c0) to (%c2, %c3)
// CHECK: memref.subview %[[X]][%[[B]], 0, %[[H]], 0] [1, 9, 1, 5] [1, 1, 1, 1]
// CHECK: %[[KN:.*]] = memref.subview %[[W]][%[[B]], %[[H]], 0, 0] [1, 1, 5, 8]
// CHECK: memref.transpose %[[KN]] (d0, d1) -> (d1, d0)
// CHECK: vector<8xf32>
// CHECK-NOT: linalg
func.func @batch(%x: memref<2x9x3x5xf32>, %w: memref<2x3x5x8xf32>, %y: memref<2x3x9x8xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(b, h, m, n, k) -> (b, m, h, k)>, affine_map<(b, h, m, n, k) -> (b, h, k, n)>,
                       affine_map<(b, h, m, n, k) -> (b, h, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<2x9x3x5xf32>, memref<2x3x5x8xf32>) outs(%y : memref<2x3x9x8xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

// Columns of x are no rows, and what is added is no product.

// CHECK-LABEL: func.func @no_batch(
// CHECK: linalg.batch_matmul
// CHECK: linalg.generic
func.func @no_batch(%x: memref<2x5x9xf32>, %z: memref<2x9x5xf32>, %w: memref<2x5x8xf32>, %y: memref<2x9x8xf32>) {
  linalg.batch_matmul
      indexing_maps = [affine_map<(b, m, n, k) -> (b, k, m)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%x, %w : memref<2x5x9xf32>, memref<2x5x8xf32>) outs(%y : memref<2x9x8xf32>)
  linalg.generic {
      indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%z, %w : memref<2x9x5xf32>, memref<2x5x8xf32>) outs(%y : memref<2x9x8xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %0 = math.absf %a : f32
    %1 = arith.mulf %0, %b : f32
    %2 = arith.addf %sum, %1 : f32
    linalg.yield %2 : f32
  }
  return
}
