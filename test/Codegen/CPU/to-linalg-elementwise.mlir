// RUN: tenon-opt %s --tenon-to-linalg --split-input-file | FileCheck %s --implicit-check-not=tenon.

// Every op that stands alone becomes one loop, which rounds to the op's type.

// CHECK-LABEL: func.func @add(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.addf {{.*}} : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @add(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.add %x, 3.0 : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @sub(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.subf {{.*}} : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @sub(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.sub %x, 3.0 : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @mul(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.mulf {{.*}} : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @mul(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.mul %x, 3.0 : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @div(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.divf {{.*}} : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @div(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.div %x, 3.0 : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @min(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.minimumf {{.*}} : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @min(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.min %x, 3.0 : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @max(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.maximumf {{.*}} : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @max(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.max %x, 3.0 : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @relu(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.maximumf {{.*}} : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @relu(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.relu %x : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @leaky_relu(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.select {{.*}} : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @leaky_relu(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.leaky_relu %x {negative_slope = 0.1} : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// x Phi(x), where what is 1 for x > 0 and the tail give Phi.
// CHECK-LABEL: func.func @gelu(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[T:.*]] = math.absf %[[WIDE]] : f32
// CHECK: arith.mulf %{{.*}}, %[[T]] fastmath<contract> : f32
// CHECK-COUNT-5: arith.addf {{.*}} fastmath<contract> : f32
// CHECK-NOT: arith.addf
// CHECK: %[[TAIL:.*]] = math.exp2 %{{.*}} : f32
// CHECK: %[[ABOVE:.*]] = arith.cmpf ogt, %[[WIDE]], %{{.*}} : f32
// CHECK: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[STEP:.*]] = arith.select %[[ABOVE]], %[[ONE]], %[[ZERO]] : f32
// CHECK: %[[DIFFERENCE:.*]] = arith.subf %[[STEP]], %[[TAIL]] fastmath<contract> : f32
// CHECK: %[[PHI:.*]] = math.absf %[[DIFFERENCE]] : f32
// CHECK: %[[GELU:.*]] = arith.mulf %[[WIDE]], %[[PHI]] fastmath<contract> : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[GELU]] : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @gelu(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.gelu %x : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// Of f32 it is the same, with more terms.
// CHECK-LABEL: func.func @gelu_f32(
// CHECK: linalg.generic
// CHECK: ^bb0(%[[X:.*]]: f32, %{{.*}}: f32):
// CHECK: %[[T:.*]] = math.absf %[[X]] : f32
// CHECK-COUNT-8: arith.addf {{.*}} fastmath<contract> : f32
// CHECK-NOT: arith.addf
// CHECK: %[[TAIL:.*]] = math.exp2 %{{.*}} : f32
// CHECK: %[[STEP:.*]] = arith.select %{{.*}} : f32
// CHECK: %[[DIFFERENCE:.*]] = arith.subf %[[STEP]], %[[TAIL]] fastmath<contract> : f32
// CHECK: %[[PHI:.*]] = math.absf %[[DIFFERENCE]] : f32
// CHECK: %[[GELU:.*]] = arith.mulf %[[X]], %[[PHI]] fastmath<contract> : f32
// CHECK: linalg.yield %[[GELU]] : f32
func.func @gelu_f32(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.gelu %x : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// The type of the result decides how many terms the polynomial has, and which.
// CHECK-LABEL: func.func @gelu_types(
// CHECK: linalg.generic
// CHECK: arith.constant -3.28543072E-4 : f32
// CHECK-COUNT-5: arith.addf {{.*}} : f32
// CHECK-NOT: arith.addf
// CHECK: math.exp2
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.generic
// CHECK: arith.constant -2.09494174E-4 : f32
// CHECK-COUNT-5: arith.addf {{.*}} : f32
// CHECK-NOT: arith.addf
// CHECK: math.exp2
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: linalg.generic
// CHECK: arith.constant -2.13713702E-6 : f32
// CHECK-COUNT-8: arith.addf {{.*}} : f32
// CHECK-NOT: arith.addf
// CHECK: math.exp2
func.func @gelu_types(%x: tensor<?x8xf16>, %y: tensor<?x8xbf16>, %z: tensor<?x8xf32>)
    -> (tensor<?x8xf16>, tensor<?x8xbf16>, tensor<?x8xf32>) {
  %0 = tenon.gelu %x : tensor<?x8xf16>
  %1 = tenon.gelu %y : tensor<?x8xbf16>
  %2 = tenon.gelu %z : tensor<?x8xf32>
  return %0, %1, %2 : tensor<?x8xf16>, tensor<?x8xbf16>, tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @gelu_f64(
// CHECK-NOT: math.exp2
// CHECK: math.erf {{.*}} : f64
func.func @gelu_f64(%x: tensor<?x8xf64>) -> tensor<?x8xf64> {
  %0 = tenon.gelu %x : tensor<?x8xf64>
  return %0 : tensor<?x8xf64>
}

// CHECK-LABEL: func.func @gelu_tanh(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: math.exp2 {{.*}} : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @gelu_tanh(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.gelu %x approximate<tanh> : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @silu(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: math.exp {{.*}} : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @silu(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.silu %x : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @mish(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: math.exp2 {{.*}} : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @mish(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.mish %x : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @sigmoid(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: math.exp2 {{.*}} : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @sigmoid(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.sigmoid %x : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @tanh(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: math.tanh {{.*}} : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @tanh(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.tanh %x : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @clamp(
// CHECK: linalg.generic
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.minimumf {{.*}} : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: linalg.yield %[[ROUNDED]] : f16
func.func @clamp(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  %0 = tenon.clamp %x {min = -1.0, max = 1.0} : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// CHECK-LABEL: func.func @batch_norm_inference(
// CHECK: linalg.generic
// CHECK: math.sqrt {{.*}} : f64
// CHECK: linalg.yield %{{.*}} : f64
func.func @batch_norm_inference(%x: tensor<?x8xf64>, %m: tensor<8xf64>, %v: tensor<8xf64>) -> tensor<?x8xf64> {
  %0 = tenon.batch_norm_inference %x stats(%m, %v) : tensor<?x8xf64>, tensor<8xf64>, tensor<8xf64>
  return %0 : tensor<?x8xf64>
}

// -----

// CHECK-DAG: #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$FEATURE:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-DAG: #[[$SCALAR:.*]] = affine_map<(d0, d1) -> ()>
// CHECK-LABEL: func.func @broadcast(
// CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$FEATURE]], #[[$ID]]]
// CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$ROW]], #[[$ID]]]
// CHECK: linalg.generic {indexing_maps = [#[[$ID]], #[[$SCALAR]], #[[$ID]]]
func.func @broadcast(%x: tensor<?x8xf32>, %n: tensor<8xf32>, %m: tensor<?x1xf32>, %s: tensor<f32>) -> tensor<?x8xf32> {
  %0 = tenon.add %x, %n : tensor<?x8xf32>, tensor<8xf32>
  %1 = tenon.add %0, %m : tensor<?x8xf32>, tensor<?x1xf32>
  %2 = tenon.add %1, %s : tensor<?x8xf32>, tensor<f32>
  return %2 : tensor<?x8xf32>
}

// -----

// The first tensor may be the one that is repeated; M comes from the other.

// CHECK-DAG: #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-LABEL: func.func @broadcast_first(
// CHECK-SAME: %{{.*}}: tensor<1x8xf32>, %[[X:[^:]*]]: tensor<?x8xf32>
// CHECK: tensor.dim %[[X]], %c0
// CHECK: linalg.generic {indexing_maps = [#[[$ROW]], #[[$ID]], #[[$ID]]]
func.func @broadcast_first(%r: tensor<1x8xf32>, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.sub %r, %x : tensor<1x8xf32>, tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @rank_0(
// CHECK: linalg.generic {{.*}} iterator_types = []
func.func @rank_0(%x: tensor<f32>) -> tensor<f32> {
  %0 = tenon.relu %x : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Between types of 16 bits through f32, which is exact.

// CHECK-LABEL: func.func @cast(
// CHECK: linalg.generic {{.*}} ins({{.*}} : tensor<?x8xf16>) outs({{.*}} : tensor<?x8xbf16>)
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK-NEXT: %[[ROUNDED:.*]] = arith.truncf %[[WIDE]] : f32 to bf16
// CHECK-NEXT: linalg.yield %[[ROUNDED]] : bf16
func.func @cast(%x: tensor<?x8xf16>) -> tensor<?x8xbf16> {
  %0 = tenon.cast %x : tensor<?x8xf16> -> tensor<?x8xbf16>
  return %0 : tensor<?x8xbf16>
}

// -----

// Outside a product every cast rounds.

// CHECK-LABEL: func.func @cast_chain(
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: arith.extf %{{.*}} : bf16 to f32
func.func @cast_chain(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tenon.cast %x : tensor<8xf32> -> tensor<8xbf16>
  %1 = tenon.cast %0 : tensor<8xbf16> -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// Half of the last bit kept is added, and the lower bits are cut off. NaN stays NaN.

// CHECK-LABEL: func.func @round_tf32(
// CHECK: linalg.generic
// CHECK: %[[BITS:.*]] = arith.bitcast %[[X:.*]] : f32 to i32
// CHECK: %[[HALF:.*]] = arith.constant 4096 : i32
// CHECK: %[[SUM:.*]] = arith.addi %[[BITS]], %[[HALF]]
// CHECK: %[[MASK:.*]] = arith.constant -8192 : i32
// CHECK: %[[CUT:.*]] = arith.andi %[[SUM]], %[[MASK]]
// CHECK: %[[ROUNDED:.*]] = arith.bitcast %[[CUT]] : i32 to f32
// CHECK: %[[ISNAN:.*]] = arith.cmpf uno, %[[X]], %[[X]]
// CHECK: %[[NAN:.*]] = arith.constant 0x7FC00000 : f32
// CHECK: arith.select %[[ISNAN]], %[[NAN]], %[[ROUNDED]]
func.func @round_tf32(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.round_tf32 %x : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
