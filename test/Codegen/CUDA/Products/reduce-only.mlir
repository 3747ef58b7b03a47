// A layer that gives but values of rows: its kernel gives those of parts of rows.
// RUN: tenon-opt %s --tenon-to-tiled | FileCheck %s

#schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = reduce_only>

// A mean is a sum of the parts' sums, and divided then; a vector that the rest does not read is not given to it.
// CHECK-LABEL: @mean
// CHECK: %[[P:.*]] = tenon.tiled_linear {{.*}}epilogue(%[[ACC:.*]]: tensor<?x200xf16>, %[[B:.*]] = %{{.*}}: tensor<200xf16>)
// CHECK-SAME: outs(%{{.*}}: tensor<?x4xf32>)
// CHECK: %[[Z:.*]] = tenon.add %[[ACC]], %[[B]]
// CHECK: %[[F:.*]] = tenon.cast %[[Z]] : tensor<?x200xf16> -> tensor<?x200xf32>
// CHECK: %[[S:.*]] = tenon.reduce_row sum %[[F]] : tensor<?x200xf32>
// CHECK: %[[PARTS:.*]] = tenon.row_parts %[[S]] {columns = 64 : i64} : tensor<?x1xf32> -> tensor<?x4xf32>
// CHECK: tenon.yield %[[PARTS]]
// CHECK: tenon.epilogue ins(%[[A:.*]] = %[[P]]: tensor<?x4xf32>)
// CHECK-SAME: outs(%{{.*}}: tensor<?x1xf16>)
// CHECK: %[[T:.*]] = tenon.reduce_row sum %[[A]] : tensor<?x4xf32>
// CHECK: %[[D:.*]] = tenon.div %[[T]], 2.0{{.*}} : tensor<?x1xf32>
// CHECK: %[[H:.*]] = tenon.cast %[[D]] : tensor<?x1xf32> -> tensor<?x1xf16>
// CHECK: tenon.silu %[[H]]
func.func @mean(%x: tensor<?x64xf16>, %w: tensor<200x64xf16>, %bias: tensor<200xf16>) -> tensor<?x1xf16> {
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<200x64xf16>
      epilogue(%acc: tensor<?x200xf16>, %b = %bias: tensor<200xf16>) -> tensor<?x1xf16>
      attributes {schedule = #schedule, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.add %acc, %b : tensor<?x200xf16>, tensor<200xf16>
    %2 = tenon.reduce_row mean %1 : tensor<?x200xf16>
    %3 = tenon.silu %2 : tensor<?x1xf16>
    tenon.yield %3 : tensor<?x1xf16>
  }
  return %0 : tensor<?x1xf16>
}

// A part's exponentials are relative to its own maximum, which is given once; their sum is a term of the row's when
// it has been scaled.
// CHECK-LABEL: @logsumexp
// CHECK: %[[P:.*]]:2 = tenon.tiled_linear {{.*}}epilogue(%[[ACC:.*]]: tensor<128x200xf32>)
// CHECK: %[[M:.*]] = tenon.reduce_row max %[[ACC]]
// CHECK: %[[MP:.*]] = tenon.row_parts %[[M]]
// CHECK: %[[C:.*]] = tenon.clamp %[[M]]
// CHECK: %[[D:.*]] = tenon.sub %[[ACC]], %[[C]]
// CHECK: %[[E:.*]] = tenon.exp %[[D]]
// CHECK: %[[S:.*]] = tenon.reduce_row sum %[[E]]
// CHECK: %[[SP:.*]] = tenon.row_parts %[[S]]
// CHECK: tenon.yield %[[MP]], %[[SP]]
// CHECK: tenon.epilogue ins(%[[A:.*]] = %[[P]]#0: tensor<128x4xf32>, %[[B:.*]] = %[[P]]#1: tensor<128x4xf32>)
// CHECK: %[[TOP:.*]] = tenon.reduce_row max %[[A]] : tensor<128x4xf32>
// CHECK: %[[BOUND:.*]] = tenon.clamp %[[A]]
// CHECK: %[[R:.*]] = tenon.sub %[[BOUND]], %[[TOP]] : tensor<128x4xf32>, tensor<128x1xf32>
// CHECK: %[[F:.*]] = tenon.exp %[[R]]
// CHECK: %[[TERMS:.*]] = tenon.mul %[[B]], %[[F]]
// CHECK: %[[ALL:.*]] = tenon.reduce_row sum %[[TERMS]]
// CHECK: %[[LOG:.*]] = tenon.log %[[ALL]]
// CHECK: tenon.add %[[LOG]], %[[TOP]]
func.func @logsumexp(%x: tensor<128x64xf32>, %w: tensor<200x64xf32>) -> tensor<128x1xf32> {
  %0 = tenon.fused_linear %x, %w precision<tf32> : tensor<128x64xf32>, tensor<200x64xf32>
      epilogue(%acc: tensor<128x200xf32>) -> tensor<128x1xf32>
      attributes {schedule = #tenon.schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = reduce_only>, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.reduce_row max %acc : tensor<128x200xf32>
    %2 = tenon.sub %acc, %1 : tensor<128x200xf32>, tensor<128x1xf32>
    %3 = tenon.exp %2 : tensor<128x200xf32>
    %4 = tenon.reduce_row sum %3 : tensor<128x200xf32>
    %5 = tenon.log %4 : tensor<128x1xf32>
    %6 = tenon.add %5, %1 : tensor<128x1xf32>, tensor<128x1xf32>
    tenon.yield %6 : tensor<128x1xf32>
  }
  return %0 : tensor<128x1xf32>
}

// Each part gives what its largest element is and where; the row's place is that of the part that has the largest.
// CHECK-LABEL: @place
// CHECK: %[[P:.*]]:2 = tenon.tiled_linear {{.*}}epilogue(%[[ACC:.*]]: tensor<?x200xf16>)
// CHECK: %[[F:.*]] = tenon.cast %[[ACC]]
// CHECK: %[[AT:.*]] = tenon.reduce_row argmax %[[F]] : tensor<?x200xf32>
// CHECK: %[[ATS:.*]] = tenon.row_parts %[[AT]]
// CHECK: %[[TOP:.*]] = tenon.reduce_row max
// CHECK: %[[TOPS:.*]] = tenon.row_parts %[[TOP]]
// CHECK: tenon.yield %[[ATS]], %[[TOPS]]
// CHECK: tenon.epilogue ins(%[[N:.*]] = %[[P]]#0: tensor<?x4xf32>, %[[Z:.*]] = %[[P]]#1: tensor<?x4xf32>)
// CHECK: %[[ROW:.*]] = tenon.reduce_row argmax %[[Z]] at %[[N]] : tensor<?x4xf32>, tensor<?x4xf32>
// CHECK: tenon.yield %[[ROW]] : tensor<?x1xf32>
func.func @place(%x: tensor<?x64xf16>, %w: tensor<200x64xf16>) -> tensor<?x1xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<200x64xf16>
      epilogue(%acc: tensor<?x200xf16>) -> tensor<?x1xf32>
      attributes {schedule = #schedule, strategy = #tenon.strategy<tiled>} {
    %1 = tenon.reduce_row argmax %acc : tensor<?x200xf16>
    tenon.yield %1 : tensor<?x1xf32>
  }
  return %0 : tensor<?x1xf32>
}
