// RUN: tenon-opt %s --tenon-to-linalg --split-input-file | FileCheck %s --implicit-check-not=tenon.

// The product of 16-bit operands is accumulated in f32 and rounded once, after
// the bias.

// CHECK: #[[$X:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK: #[[$W:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK: #[[$Y:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: #[[$COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @linear_f16(
// CHECK-SAME: %[[ARG_X:[^:]*]]: tensor<?x64xf16>, %[[ARG_W:[^:]*]]: tensor<32x64xf16>, %[[BIAS:[^:]*]]: tensor<32xf16>
// CHECK: %[[M:.*]] = tensor.dim %[[ARG_X]], %c0
// CHECK: %[[EMPTY:.*]] = tensor.empty(%[[M]]) : tensor<?x32xf32>
// CHECK: %[[FILL:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%[[EMPTY]]
// CHECK: %[[ACC:.*]] = linalg.matmul indexing_maps = [#[[$X]], #[[$W]], #[[$Y]]] ins(%[[ARG_X]], %[[ARG_W]] : {{.*}}) outs(%[[FILL]] : tensor<?x32xf32>)
// CHECK: %[[OUT:.*]] = linalg.generic {indexing_maps = [#[[$ROW]], #[[$COLUMN]], #[[$ROW]]]
// CHECK-SAME: ins(%[[ACC]], %[[BIAS]] : tensor<?x32xf32>, tensor<32xf16>) outs({{.*}} : tensor<?x32xf16>)
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f16, %{{.*}}: f16):
// CHECK: %[[WIDE:.*]] = arith.extf %[[B]] : f16 to f32
// CHECK: %[[SUM:.*]] = arith.addf %[[A]], %[[WIDE]] : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]]
// CHECK: return %[[OUT]]
func.func @linear_f16(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %b: tensor<32xf16>) -> tensor<?x32xf16> {
  %0 = tenon.linear %x, %w, %b : (tensor<?x64xf16>, tensor<32x64xf16>, tensor<32xf16>) -> tensor<?x32xf16>
  return %0 : tensor<?x32xf16>
}

// -----

// A result of f32 is the accumulator itself.

// CHECK-LABEL: func.func @linear_bf16_to_f32(
// CHECK: %[[ACC:.*]] = linalg.matmul {{.*}} outs({{.*}} : tensor<8x32xf32>)
// CHECK-NEXT: return %[[ACC]]
func.func @linear_bf16_to_f32(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<8x32xf32> {
  %0 = tenon.linear %x, %w : (tensor<8x64xbf16>, tensor<32x64xbf16>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

// CHECK-LABEL: func.func @linear_f64(
// CHECK: linalg.matmul {{.*}} outs({{.*}} : tensor<8x32xf64>)
func.func @linear_f64(%x: tensor<8x64xf64>, %w: tensor<32x64xf64>) -> tensor<8x32xf64> {
  %0 = tenon.linear %x, %w : (tensor<8x64xf64>, tensor<32x64xf64>) -> tensor<8x32xf64>
  return %0 : tensor<8x32xf64>
}

// -----

// fp32 arithmetic satisfies every precision.

// CHECK-LABEL: func.func @linear_tf32(
// CHECK: linalg.matmul {{.*}} outs({{.*}} : tensor<8x32xf32>)
func.func @linear_tf32(%x: tensor<8x64xf32>, %w: tensor<32x64xf32>) -> tensor<8x32xf32> {
  %0 = tenon.linear %x, %w precision<tf32> : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}

// -----

// How a GPU computes a layer is nothing to the CPU.

// CHECK-LABEL: func.func @strategy(
// CHECK: linalg.matmul
func.func @strategy(%x: tensor<?x8xf16>, %w: tensor<4x8xf16>) -> tensor<?x4xf32> {
  %0 = tenon.linear %x, %w {strategy = #tenon.strategy<tiled>, schedule = #tenon.schedule<mma_sync,
      tile = 64x128x64, warps = 2x4, stages = 4, swizzle = 128, raster = 8, blocks = 1>}
      : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
