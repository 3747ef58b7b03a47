// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --canonicalize --cse | FileCheck %s --check-prefix=CSE
// RUN: tenon-opt %s --tenon-bufferize --canonicalize | FileCheck %s --check-prefix=BUFFER
// RUN: tenon-opt %s --tenon-reference=bounds | FileCheck %s --check-prefix=REFERENCE
// RUN: tenon-opt %s --tenon-to-linalg | FileCheck %s --check-prefix=LINALG

// LINALG-DAG: #[[BLOCK:.*]] = affine_map<(d0, d1) -> (d0, d1 floordiv 128)>
// LINALG-DAG: #[[COLUMN:.*]] = affine_map<(d0, d1) -> ((d1 floordiv 128) * 3 + d0 floordiv 128)>
// LINALG-DAG: #[[SQUARE:.*]] = affine_map<(d0, d1) -> (d0 floordiv 128, d1 floordiv 128)>

// CHECK-LABEL: @rows
// CHECK: tenon.scale_blocks %{{.*}}, %{{.*}} {columns = 128 : i64, rows = 1 : i64} : (tensor<?x200xf8E4M3FN>, tensor<?x2xf32>) -> tensor<?x200xf32>
// CSE-LABEL: @rows
// CSE-COUNT-1: tenon.scale_blocks
// CSE-NOT: tenon.scale_blocks
// BUFFER-LABEL: @rows
// BUFFER: %[[Y:.*]] = memref.alloc(%{{.*}}) {{.*}} : memref<?x200xf32>
// BUFFER: tenon.scale_blocks %{{.*}}, %{{.*}} outs(%[[Y]]) {{.*}} : (memref<?x200xf8E4M3FN>, memref<?x2xf32>, memref<?x200xf32>) -> ()
// LINALG-LABEL: @rows
// LINALG: linalg.generic {indexing_maps = [#{{.*}}, #[[BLOCK]], #{{.*}}], iterator_types = ["parallel", "parallel"]}
// LINALG: arith.extf %{{.*}} : f8E4M3FN to f32
// LINALG: arith.mulf
// REFERENCE-LABEL: @rows_reference
// REFERENCE: tenon.scale_blocks {{.*}} : (tensor<?x200xf64>, tensor<?x2xf64>) -> tensor<?x200xf64>
// REFERENCE-LABEL: @rows_bounds
// REFERENCE: tenon.scale_blocks {{.*}} : (tensor<?x200xf64>, tensor<?x2xf64>) -> tensor<?x200xf64>
func.func @rows(%x: tensor<?x200xf8E4M3FN>, %s: tensor<?x2xf32>) -> tensor<?x200xf32> {
  %0 = tenon.scale_blocks %x, %s {rows = 1, columns = 128} : (tensor<?x200xf8E4M3FN>, tensor<?x2xf32>) -> tensor<?x200xf32>
  %1 = tenon.scale_blocks %x, %s {rows = 1, columns = 128} : (tensor<?x200xf8E4M3FN>, tensor<?x2xf32>) -> tensor<?x200xf32>
  return %0 : tensor<?x200xf32>
}

// CHECK-LABEL: @squares
// CSE-LABEL: @squares
// LINALG-LABEL: @squares
// LINALG: linalg.generic {indexing_maps = [#{{.*}}, #[[SQUARE]], #{{.*}}]
func.func @squares(%x: tensor<300x200xf8E5M2>, %s: tensor<3x2xf32>) -> tensor<300x200xf32> {
  // CHECK: (tensor<300x200xf8E5M2>, tensor<3x2xf32>) -> tensor<300x200xf32>
  %0 = tenon.scale_blocks %x, %s {rows = 128, columns = 128} : (tensor<300x200xf8E5M2>, tensor<3x2xf32>) -> tensor<300x200xf32>
  return %0 : tensor<300x200xf32>
}

// Column by column.
// CHECK-LABEL: @columns
// CSE-LABEL: @columns
// LINALG-LABEL: @columns
// LINALG: linalg.generic {indexing_maps = [#{{.*}}, #[[COLUMN]], #{{.*}}]
func.func @columns(%x: tensor<300x200xf8E5M2>, %s: tensor<6xf32>) -> tensor<300x200xf32> {
  // CHECK: (tensor<300x200xf8E5M2>, tensor<6xf32>) -> tensor<300x200xf32>
  %0 = tenon.scale_blocks %x, %s {rows = 128, columns = 128} : (tensor<300x200xf8E5M2>, tensor<6xf32>) -> tensor<300x200xf32>
  return %0 : tensor<300x200xf32>
}
