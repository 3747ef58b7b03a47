// RUN: tenon-opt %s --tenon-reference=bounds | FileCheck %s

// Where nothing is rounded nothing is off.
// CHECK-LABEL: func.func @slice_reference(
// CHECK-LABEL: func.func @slice_bounds(
// CHECK-SAME:    %[[X:.*]]: tensor<8xf32>) -> tensor<4xf64> attributes {tenon.bounds}
// CHECK:         %[[XD:.*]] = arith.extf %[[X]]
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[XD]][2] [4] [1]
// CHECK:         %[[ZERO:.*]] = tenon.mul %[[S]], 0.0
// CHECK:         return %[[ZERO]]
func.func @slice(%x: tensor<8xf32>) -> tensor<4xf32> {
  %0 = tensor.extract_slice %x[2] [4] [1] : tensor<8xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A function's own error is one of its result, and what its operand's becomes is found by moving that.
// CHECK-LABEL: func.func @chain_bounds(
// CHECK:         %[[SUM:.*]] = tenon.add
// CHECK:         %[[E:.*]] = tenon.add %{{.*}}, 1.0{{0*}}e-35
// CHECK:         %[[TANH:.*]] = tenon.tanh %[[SUM]]
// CHECK:         %[[UP:.*]] = tenon.add %[[SUM]], %[[E]]
// CHECK:         tenon.tanh %[[UP]]
// CHECK:         %[[DOWN:.*]] = tenon.sub %[[SUM]], %[[E]]
// CHECK:         tenon.tanh %[[DOWN]]
func.func @chain(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.add %x, %y : tensor<4x8xf32>, tensor<8xf32>
  %1 = tenon.tanh %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// Where both factors are off, so is their product by that of their errors: in numbers near 0 that is all.
// CHECK-LABEL: func.func @square_bounds(
// CHECK:         %[[SUM:.*]] = tenon.add
// CHECK:         %[[SQUARE:.*]] = tenon.mul %[[SUM]], %[[SUM]]
// CHECK:         %[[UP:.*]] = tenon.add %[[SUM]]
// CHECK:         %[[LEFT:.*]] = tenon.mul %[[UP]], %[[SUM]]
// CHECK:         %[[RIGHT:.*]] = tenon.mul %[[SUM]], %[[UP_AGAIN:[^ ]*]] :
// CHECK:         %[[BOTH:.*]] = tenon.mul %[[UP]], %[[UP_AGAIN]]
// CHECK:         %[[WITH:.*]] = tenon.add %[[BOTH]], %[[SQUARE]]
// CHECK:         %[[SINGLES:.*]] = tenon.add %[[LEFT]], %[[RIGHT]]
// CHECK:         tenon.sub %[[WITH]], %[[SINGLES]]
func.func @square(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.add %x, %y : tensor<4x8xf32>, tensor<8xf32>
  %1 = tenon.mul %0, %0 : tensor<4x8xf32>, tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// A variance that is off is moved, but not below 0.
// CHECK-LABEL: func.func @variance_bounds(
// CHECK:         %[[VARIANCE:.*]] = tenon.mul
// CHECK:         %[[UP:.*]] = tenon.max %{{.*}}, 0.0
// CHECK:         tenon.batch_norm_inference %{{.*}} stats(%{{.*}}, %[[UP]])
// CHECK:         %[[LESS:.*]] = tenon.sub %[[VARIANCE]],
// CHECK:         %[[DOWN:.*]] = tenon.max %[[LESS]], 0.0
// CHECK:         tenon.batch_norm_inference %{{.*}} stats(%{{.*}}, %[[DOWN]])
func.func @variance(%x: tensor<4x8xf32>, %mean: tensor<8xf32>, %variance: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.mul %variance, %variance : tensor<8xf32>, tensor<8xf32>
  %1 = tenon.batch_norm_inference %x stats(%mean, %0) : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return %1 : tensor<4x8xf32>
}

// Of this op no bound is known.
// CHECK-LABEL: func.func @fused_reference(
// CHECK-NOT:   @fused_bounds
func.func @fused(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %0 = tenon.fused_linear %x, %w : tensor<4x8xf32>, tensor<16x8xf32>
      epilogue(%acc: tensor<4x16xf32>) -> tensor<4x16xf32> {
    tenon.yield %acc : tensor<4x16xf32>
  }
  return %0 : tensor<4x16xf32>
}

// What is moved beside an error is off by nothing.
// CHECK-LABEL: func.func @concat_bounds(
// CHECK:         %[[ERROR:.*]] = tenon.add %{{.*}}, 1.0{{0*}}e-35
// CHECK:         %[[ZERO:.*]] = tenon.mul %{{.*}}, 0.0
// CHECK:         tensor.concat dim(0) %[[ERROR]], %[[ZERO]]
func.func @concat(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<16xf32> {
  %0 = tenon.add %x, %y : tensor<8xf32>, tensor<8xf32>
  %1 = tensor.concat dim(0) %0, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}

// A gelu of 16 bits errs by a quarter of a rounding more, its derivative by that of 1, of which it is a part.
// CHECK-LABEL: func.func @gelus_bounds(
// CHECK:         %[[GELU:.*]] = tenon.gelu
// CHECK:         math.absf %[[GELU]]
// CHECK:         %[[SIZE:.*]] = math.absf %[[GELU]]
// CHECK:         tenon.mul %[[SIZE]], 1.220703{{[0-9]*}}E-4
// CHECK:         tenon.gelu_derivative
// CHECK:         tenon.add %{{.*}}, 9.536743{{[0-9]*}}E-7
// CHECK:         tenon.add %{{.*}}, 9.765625E-4
func.func @gelus(%x: tensor<4x8xf16>, %y: tensor<4x8xbf16>) -> (tensor<4x8xf16>, tensor<4x8xbf16>) {
  %0 = tenon.gelu %x : tensor<4x8xf16>
  %1 = tenon.gelu_derivative %y : tensor<4x8xbf16>
  return %0, %1 : tensor<4x8xf16>, tensor<4x8xbf16>
}

// The gelu with tanh has no fewer terms.
// CHECK-LABEL: func.func @gelu_tanh_bounds(
// CHECK:         tenon.gelu
// CHECK-NOT:     1.220703{{[0-9]*}}E-4
// CHECK:         return
func.func @gelu_tanh(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %0 = tenon.gelu %x approximate<tanh> : tensor<4x8xf16>
  return %0 : tensor<4x8xf16>
}

// A place is unsure, by as much as there are columns, where more than one element may be the largest.
// CHECK-LABEL: func.func @place_bounds(
// CHECK:         tenon.reduce_row max
// CHECK:         tenon.gate 1.0{{.*}}, %{{.*}}
// CHECK:         tenon.reduce_row sum
// CHECK:         tenon.mul %{{.*}}, 8.0
func.func @place(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %0 = tenon.exp %x : tensor<4x8xf32>
  %1 = tenon.reduce_row argmax %0 : tensor<4x8xf32>
  return %1 : tensor<4x1xf32>
}

// CHECK-LABEL: func.func @batch_sum_bounds(
// CHECK-COUNT-3: tenon.batch_sum
func.func @batch_sum(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %0 = tenon.exp %x : tensor<4x8xf32>
  %1 = tenon.batch_sum %0 : (tensor<4x8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
