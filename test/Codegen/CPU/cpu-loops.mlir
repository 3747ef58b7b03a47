// RUN: tenon-opt %s --tenon-cpu-loops --canonicalize --split-input-file | FileCheck %s --implicit-check-not=linalg.

#id = affine_map<(d0, d1) -> (d0, d1)>
#feature = affine_map<(d0, d1) -> (d1)>
#row = affine_map<(d0, d1) -> (d0, 0)>

// Whole vectors of 8, then 4 single elements; what is one value a row is loaded
// as one.

// CHECK-LABEL: func.func @elementwise(
// CHECK-SAME: %[[X:[^:]*]]: memref<?x36xf16>, %[[B:[^:]*]]: memref<36xf32>, %[[S:[^:]*]]: memref<?x1xf32>, %[[Y:[^:]*]]: memref<?x36xf32>
// CHECK: scf.parallel
// CHECK: scf.for %[[M:.*]] =
// CHECK: scf.for %[[N:.*]] = %c0 to %c32 step %c8
// CHECK: %[[H:.*]] = vector.load %[[X]][%[[M]], %[[N]]] : memref<?x36xf16>, vector<8xf16>
// CHECK: %[[BIAS:.*]] = vector.load %[[B]][%[[N]]]
// CHECK: %[[SCALE:.*]] = memref.load %[[S]][%[[M]], %c0]
// CHECK: %[[WIDE:.*]] = arith.extf %[[H]] : vector<8xf16> to vector<8xf32>
// CHECK: %[[SUM:.*]] = arith.addf %[[WIDE]], %[[BIAS]] : vector<8xf32>
// CHECK: %[[SPLAT:.*]] = vector.broadcast %[[SCALE]]
// CHECK: %[[P:.*]] = arith.mulf %[[SUM]], %[[SPLAT]]
// CHECK: vector.store %[[P]], %[[Y]][%[[M]], %[[N]]]
// CHECK: scf.for %[[N:.*]] = %c32 to %c36 step %c1
// CHECK: memref.load %[[X]]
// CHECK: memref.store %{{.*}}, %[[Y]]
func.func @elementwise(%x: memref<?x36xf16>, %b: memref<36xf32>, %s: memref<?x1xf32>, %y: memref<?x36xf32>) {
  linalg.generic {indexing_maps = [#id, #feature, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %b, %s : memref<?x36xf16>, memref<36xf32>, memref<?x1xf32>) outs(%y : memref<?x36xf32>) {
  ^bb0(%in: f16, %bias: f32, %scale: f32, %out: f32):
    %0 = arith.extf %in : f16 to f32
    %1 = arith.addf %0, %bias : f32
    %2 = arith.mulf %1, %scale : f32
    linalg.yield %2 : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#feature = affine_map<(d0, d1) -> (d1)>

// Rows in order within a chunk of columns; the row's number is one value.

// CHECK-LABEL: func.func @reduction(
// CHECK: scf.parallel {{.*}} to (%c16)
// CHECK: scf.for %[[M:.*]] = %c0 to %{{.*}} step %c1
// CHECK: scf.for {{.*}} step %c4
// CHECK: vector.load {{.*}} : memref<1024xf64>, vector<4xf64>
// CHECK: arith.index_cast %[[M]] : index to i64
// CHECK: vector.broadcast {{.*}} : f64 to vector<4xf64>
// CHECK: vector.store {{.*}} : memref<1024xf64>, vector<4xf64>
func.func @reduction(%x: memref<?x1024xf64>, %s: memref<1024xf64>) {
  linalg.generic {indexing_maps = [#id, #feature], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<?x1024xf64>) outs(%s : memref<1024xf64>) {
  ^bb0(%in: f64, %out: f64):
    %0 = linalg.index 0 : index
    %1 = arith.index_cast %0 : index to i64
    %2 = arith.sitofp %1 : i64 to f64
    %3 = arith.mulf %in, %2 : f64
    %4 = arith.addf %out, %3 : f64
    linalg.yield %4 : f64
  }
  return
}

// -----

// CHECK-LABEL: func.func @fill_and_rank_0(
// CHECK: vector.store {{.*}} : memref<64xf32>, vector<8xf32>
// CHECK: %[[S:.*]] = memref.load %{{.*}}[] : memref<f32>
// CHECK: %[[A:.*]] = math.absf %[[S]] : f32
// CHECK: memref.store %[[A]]
func.func @fill_and_rank_0(%x: memref<64xf32>, %s: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%x : memref<64xf32>)
  linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%s : memref<f32>) outs(%s : memref<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.absf %in : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Anything else becomes plain loops.

// CHECK-LABEL: func.func @transpose(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.store
func.func @transpose(%x: memref<4x8xf32>, %y: memref<8x4xf32>) {
  linalg.transpose ins(%x : memref<4x8xf32>) outs(%y : memref<8x4xf32>) permutation = [1, 0]
  return
}
