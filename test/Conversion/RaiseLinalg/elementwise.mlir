// RUN: tenon-opt %s --tenon-raise-linalg --split-input-file | FileCheck %s --implicit-check-not=linalg.

#rows = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (n)>
#row = affine_map<(m, n) -> (m)>
#one = affine_map<(m, n) -> ()>

// Operands of all elements, of each column and row, of one, and numbers.
// CHECK-LABEL: func.func @raise_operands(
// CHECK-NEXT:    %[[R:.*]] = tensor.expand_shape %arg2 {{.*}} : tensor<4xf32> into tensor<4x1xf32>
// CHECK-NEXT:    %[[A:.*]] = tenon.add %arg0, %arg1 : tensor<4x8xf32>, tensor<8xf32>
// CHECK-NEXT:    %[[B:.*]] = tenon.mul %[[A]], %[[R]] : tensor<4x8xf32>, tensor<4x1xf32>
// CHECK-NEXT:    %[[C:.*]] = tenon.sub 2.000000e+00, %[[B]] : tensor<4x8xf32>
// CHECK-NEXT:    %[[D:.*]] = tenon.div %[[C]], %arg3 : tensor<4x8xf32>, tensor<f32>
// CHECK-NEXT:    return %[[D]]
func.func @raise_operands(%x: tensor<4x8xf32>, %c: tensor<8xf32>, %r: tensor<4xf32>, %s: tensor<f32>) -> tensor<4x8xf32> {
  %two = arith.constant 2.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#rows, #column, #row, #one, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %c, %r, %s : tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>) outs(%empty : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32, %e: f32, %out: f32):
    %1 = arith.addf %a, %b : f32
    %2 = arith.mulf %1, %d : f32
    %3 = arith.subf %two, %2 : f32
    %4 = arith.divf %3, %e : f32
    linalg.yield %4 : f32
  } -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @raise_named(
// CHECK-NEXT:    %[[A:.*]] = tenon.add %arg0, %arg1
// CHECK-NEXT:    %[[B:.*]] = tenon.exp %[[A]]
// CHECK-NEXT:    %[[C:.*]] = tenon.tanh %[[B]]
// CHECK-NEXT:    return %[[C]]
func.func @raise_named(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %empty = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.add ins(%x, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.elementwise kind=#linalg.elementwise_kind<exp> ins(%0 : tensor<4x8xf32>) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.map {math.tanh} ins(%1 : tensor<4x8xf32>) outs(%empty : tensor<4x8xf32>)
  return %2 : tensor<4x8xf32>
}

// -----

#rows = affine_map<(m, n) -> (m, n)>

// What tenon has no word for stays an op on tensors.
// CHECK-LABEL: func.func @raise_to_math(
// CHECK-NEXT:    %[[A:.*]] = math.erf %arg0 : tensor<?x8xf32>
// CHECK-NEXT:    %[[B:.*]] = tenon.mul %arg0, -1.000000e+00
// CHECK-NEXT:    %[[C:.*]] = tenon.max %arg0, %[[B]]
// CHECK-NEXT:    %[[D:.*]] = tenon.mul %[[A]], %[[C]]
// CHECK-NEXT:    return %[[D]]
func.func @raise_to_math(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%m) : tensor<?x8xf32>
  %0 = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x8xf32>) outs(%empty : tensor<?x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = math.erf %a : f32
    %2 = math.absf %a : f32
    %3 = arith.mulf %1, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

#rows = affine_map<(m, n) -> (m, n)>

// CHECK-LABEL: func.func @raise_casts(
// CHECK-NEXT:    %[[A:.*]] = tenon.cast %arg0 : tensor<?x8xbf16> -> tensor<?x8xf32>
// CHECK-NEXT:    %[[B:.*]] = tenon.mul %[[A]], %[[A]]
// CHECK-NEXT:    tenon.cast %[[B]] : tensor<?x8xf32> -> tensor<?x8xf16>
func.func @raise_casts(%x: tensor<?x8xbf16>) -> tensor<?x8xf16> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x8xbf16>
  %empty = tensor.empty(%m) : tensor<?x8xf16>
  %0 = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x8xbf16>) outs(%empty : tensor<?x8xf16>) {
  ^bb0(%a: bf16, %out: f16):
    %1 = arith.extf %a : bf16 to f32
    %2 = arith.mulf %1, %1 : f32
    %3 = arith.truncf %2 : f32 to f16
    linalg.yield %3 : f16
  } -> tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}

// -----

#rows = affine_map<(m, n) -> (m, n)>

// A comparison joins what selects by it.
// CHECK-LABEL: func.func @raise_selection(
// CHECK-NEXT:    %[[A:.*]] = tenon.leaky_relu %arg0 {negative_slope = 1.250000e-01 : f64}
// CHECK-NEXT:    %[[B:.*]] = tenon.gate %arg1, %[[A]]
// CHECK-NEXT:    return %[[B]]
func.func @raise_selection(%x: tensor<?x8xf32>, %g: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %slope = arith.constant 0.125 : f32
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%m) : tensor<?x8xf32>
  %booleans = tensor.empty(%m) : tensor<?x8xi1>
  %0 = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x8xf32>) outs(%booleans : tensor<?x8xi1>) {
  ^bb0(%a: f32, %out: i1):
    %3 = arith.cmpf oge, %a, %zero : f32
    linalg.yield %3 : i1
  } -> tensor<?x8xi1>
  %1 = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%0, %x : tensor<?x8xi1>, tensor<?x8xf32>) outs(%empty : tensor<?x8xf32>) {
  ^bb0(%c: i1, %a: f32, %out: f32):
    %3 = arith.mulf %a, %slope : f32
    %4 = arith.select %c, %a, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<?x8xf32>
  %2 = linalg.generic {indexing_maps = [#rows, #rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%1, %g : tensor<?x8xf32>, tensor<?x8xf32>) outs(%empty : tensor<?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %3 = arith.cmpf ole, %a, %zero : f32
    %4 = arith.select %3, %zero, %b : f32
    linalg.yield %4 : f32
  } -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// -----

#scalar = affine_map<() -> ()>
#one = affine_map<(m, n) -> ()>
#rows = affine_map<(m, n) -> (m, n)>

// What is known is computed: 8 - 1 is more than 0, and rsqrt(0.25) is 2.
// CHECK-LABEL: func.func @raise_numbers(
// CHECK-NEXT:    tenon.mul %arg0, 1.400000e+01
func.func @raise_numbers(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = arith.constant dense<1> : tensor<i32>
  %eight = arith.constant 8.0 : f32
  %quarter = arith.constant 0.25 : f32
  %zero = arith.constant 0.0 : f32
  %nan = arith.constant 0x7FC00000 : f32
  %scalar = tensor.empty() : tensor<f32>
  %empty = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#scalar, #scalar], iterator_types = []}
      ins(%one : tensor<i32>) outs(%scalar : tensor<f32>) {
  ^bb0(%a: i32, %out: f32):
    %2 = arith.sitofp %a : i32 to f32
    %3 = arith.subf %eight, %2 : f32
    %4 = math.rsqrt %quarter : f32
    %5 = arith.mulf %3, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<f32>
  %1 = linalg.generic {indexing_maps = [#rows, #one, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %0 : tensor<4x8xf32>, tensor<f32>) outs(%empty : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %2 = arith.mulf %a, %b : f32
    %3 = arith.cmpf ogt, %b, %zero : f32
    %4 = arith.select %3, %2, %nan : f32
    linalg.yield %4 : f32
  } -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

#all = affine_map<(m) -> (m)>

// A vector of one value a row is a column, where M is dynamic.
// CHECK-LABEL: func.func @raise_column(
// CHECK-NEXT:    %[[R:.*]] = tenon.reduce_row sum %arg0
// CHECK-NEXT:    %[[M:.*]] = tenon.mul %[[R]], 3.0
// CHECK-NEXT:    return %[[M]] : tensor<?x1xf32>
func.func @raise_column(%x: tensor<?x8xf32>) -> tensor<?x1xf32> {
  %c0 = arith.constant 0 : index
  %three = arith.constant 3.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%m) : tensor<?xf32>
  %0 = tenon.reduce_row sum %x : tensor<?x8xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<?x1xf32> into tensor<?xf32>
  %2 = linalg.generic {indexing_maps = [#all], iterator_types = ["parallel"]} outs(%empty : tensor<?xf32>) {
  ^bb0(%out: f32):
    linalg.yield %three : f32
  } -> tensor<?xf32>
  %3 = linalg.mul ins(%1, %2 : tensor<?xf32>, tensor<?xf32>) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %4 = tensor.expand_shape %3 [[0, 1]] output_shape [%m, 1] : tensor<?xf32> into tensor<?x1xf32>
  return %4 : tensor<?x1xf32>
}

// -----

#rows = affine_map<(m, n) -> (m, n)>

// Tensors that are repeated by their indices; extents are not negative.
// CHECK-LABEL: func.func @raise_gathers(
// CHECK-NEXT:    tenon.sub %arg0, %arg1 : tensor<?x8xf32>, tensor<?x1xf32>
// CHECK-NEXT:    return
func.func @raise_gathers(%x: tensor<?x8xf32>, %y: tensor<?x1xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %rows = tensor.dim %y, %c0 : tensor<?x1xf32>
  %wide = arith.index_cast %m : index to i64
  %is = arith.cmpi sge, %wide, %zero : i64
  cf.assert %is, "dynamic negative broadcast sizes"
  %empty = tensor.empty(%m) : tensor<?x8xf32>
  %0 = linalg.generic {indexing_maps = [#rows], iterator_types = ["parallel", "parallel"]} outs(%empty : tensor<?x8xf32>) {
  ^bb0(%out: f32):
    %2 = linalg.index 0 : index
    %3 = arith.cmpi eq, %rows, %c1 : index
    %4 = arith.select %3, %c0, %2 : index
    %5 = tensor.extract %y[%4, %c0] : tensor<?x1xf32>
    linalg.yield %5 : f32
  } -> tensor<?x8xf32>
  %1 = linalg.sub ins(%x, %0 : tensor<?x8xf32>, tensor<?x8xf32>) outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}
