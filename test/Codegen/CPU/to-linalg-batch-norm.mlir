// RUN: tenon-opt %s --tenon-to-linalg --split-input-file | FileCheck %s --implicit-check-not=tenon.

// Statistics in f64 over the rows, then one small loop over the columns, then
// the map with what follows it. What comes before is computed once.

// CHECK-LABEL: func.func @between_maps(
// CHECK: %[[ACC:.*]] = linalg.matmul
// CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[ACC]], {{.*}} outs({{.*}} : tensor<?x32xf32>)
// CHECK: arith.mulf
// CHECK: %[[COUNT:.*]] = arith.sitofp {{.*}} : i64 to f64
// CHECK: %[[STATE:.*]]:2 = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[SCALED]]
// CHECK-SAME: outs({{.*}} : tensor<32xf64>, tensor<32xf64>)
// CHECK: linalg.index 0
// CHECK: %[[COLUMNS:.*]]:4 = linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%[[STATE]]#0, %[[STATE]]#1,
// CHECK-SAME: outs({{.*}} : tensor<32xf64>, tensor<32xf64>, tensor<32xf32>, tensor<32xf32>)
// CHECK: arith.divf {{.*}}, %[[COUNT]] : f64
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%[[COLUMNS]]#0, %[[COLUMNS]]#1, %[[SCALED]]
// CHECK: %[[NORMAL:.*]] = arith.truncf {{.*}} : f64 to f32
// CHECK: arith.maximumf %[[NORMAL]]
// CHECK: return %[[Y]], %[[COLUMNS]]#2, %[[COLUMNS]]#3
func.func @between_maps(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %s: tensor<32xf32>, %rm: tensor<32xf32>, %rv: tensor<32xf32>)
    -> (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %0:3 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %scale = %s: tensor<32xf32>, %m = %rm: tensor<32xf32>, %v = %rv: tensor<32xf32>)
      -> (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>) {
    %1 = tenon.mul %acc, %scale : tensor<?x32xf32>, tensor<32xf32>
    %2:3 = tenon.batch_norm_training %1 running(%m, %v)
        : (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>)
    %3 = tenon.relu %2#0 : tensor<?x32xf32>
    tenon.yield %3, %2#1, %2#2 : tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>
}

// -----

// f64 is rounded to 16 bits by way of f32.

// CHECK-LABEL: func.func @alone(
// CHECK: iterator_types = ["reduction", "parallel"]
// CHECK: iterator_types = ["parallel"]
// CHECK: iterator_types = ["parallel", "parallel"]
// CHECK: %[[SINGLE:.*]] = arith.truncf {{.*}} : f64 to f32
// CHECK: arith.truncf %[[SINGLE]] : f32 to f16
func.func @alone(%x: tensor<9x32xf16>, %g: tensor<32xf16>, %b: tensor<32xf16>) -> tensor<9x32xf16> {
  %0 = tenon.batch_norm_training %x weight(%g) bias(%b) : (tensor<9x32xf16>, tensor<32xf16>, tensor<32xf16>) -> tensor<9x32xf16>
  return %0 : tensor<9x32xf16>
}

// -----

// Moments are rounded once, from f64. What they are of is one loop of its own.

// CHECK-LABEL: func.func @moments(
// CHECK: %[[Z:.*]] = linalg.generic {{.*}} outs({{.*}} : tensor<?x32xf32>)
// CHECK: %[[STATE:.*]]:2 = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[Z]]
// CHECK: %[[M:.*]]:2 = linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%[[STATE]]#0, %[[STATE]]#1 :
// CHECK-COUNT-2: arith.truncf {{.*}} : f64 to f32
// CHECK: return %[[Z]], %[[M]]#0, %[[M]]#1
func.func @moments(%x: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %0 = tenon.mul %x, 2.0 : tensor<?x32xf32>
  %1:2 = tenon.batch_moments %0 : (tensor<?x32xf32>) -> (tensor<32xf32>, tensor<32xf32>)
  return %0, %1#0, %1#1 : tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>
}

// -----

// Saved statistics come with the new running ones.

// CHECK-LABEL: func.func @saved(
// CHECK: %[[COLUMNS:.*]]:6 = linalg.generic {{.*}} iterator_types = ["parallel"]}
// CHECK-SAME: outs({{.*}} : tensor<32xf64>, tensor<32xf64>, tensor<32xf16>, tensor<32xf16>, tensor<32xf32>, tensor<32xf32>)
// CHECK: return %{{.*}}, %[[COLUMNS]]#3, %[[COLUMNS]]#4, %[[COLUMNS]]#5
func.func @saved(%x: tensor<9x32xf16>, %m: tensor<32xf16>) -> (tensor<9x32xf16>, tensor<32xf16>, tensor<32xf32>, tensor<32xf32>) {
  %0:5 = tenon.batch_norm_training %x running(%m, %m) {save_statistics} : (tensor<9x32xf16>, tensor<32xf16>, tensor<32xf16>) -> (tensor<9x32xf16>, tensor<32xf16>, tensor<32xf16>, tensor<32xf32>, tensor<32xf32>)
  return %0#0, %0#2, %0#3, %0#4 : tensor<9x32xf16>, tensor<32xf16>, tensor<32xf32>, tensor<32xf32>
}
