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
