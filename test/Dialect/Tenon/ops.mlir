// Every op with every optional part prints as it parses: as text, in the generic
// form, and as bytecode.
// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --emit-bytecode | tenon-opt | FileCheck %s

// CHECK-LABEL: @linear
func.func @linear(%x: tensor<16x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>) {
  // CHECK: tenon.linear %{{.*}}, %{{.*}} : (tensor<16x8xf32>, tensor<4x8xf32>) -> tensor<16x4xf32>
  %0 = tenon.linear %x, %w : (tensor<16x8xf32>, tensor<4x8xf32>) -> tensor<16x4xf32>
  // CHECK: tenon.linear %{{.*}}, %{{.*}}, %{{.*}} : (tensor<16x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<16x4xf32>
  %1 = tenon.linear %x, %w, %b : (tensor<16x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<16x4xf32>
  // CHECK: tenon.linear %{{.*}}, %{{.*}}, %{{.*}} precision<fp32> :
  %2 = tenon.linear %x, %w, %b precision<fp32> : (tensor<16x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<16x4xf32>
  // CHECK: tenon.linear %{{.*}}, %{{.*}} precision<tf32> :
  %3 = tenon.linear %x, %w precision<tf32> : (tensor<16x8xf32>, tensor<4x8xf32>) -> tensor<16x4xf32>
  // CHECK: tenon.linear %{{.*}}, %{{.*}} precision<bf16> :
  %4 = tenon.linear %x, %w precision<bf16> : (tensor<16x8xf32>, tensor<4x8xf32>) -> tensor<16x4xf32>
  // CHECK: tenon.linear %{{.*}}, %{{.*}} precision<fp16> {note = "kept"} :
  %5 = tenon.linear %x, %w precision<fp16> {note = "kept"} : (tensor<16x8xf32>, tensor<4x8xf32>) -> tensor<16x4xf32>
  return
}

// CHECK-LABEL: @linear_f8
func.func @linear_f8(%x: tensor<?x16xf8E4M3FN>, %w: tensor<4x16xf8E4M3FN>, %x2: tensor<?x16xf8E5M2>, %w2: tensor<4x16xf8E5M2>,
                     %r: tensor<?x1xf32>) {
  // CHECK: tenon.linear {{.*}} : (tensor<?x16xf8E4M3FN>, tensor<4x16xf8E4M3FN>) -> tensor<?x4xf32>
  %0 = tenon.linear %x, %w : (tensor<?x16xf8E4M3FN>, tensor<4x16xf8E4M3FN>) -> tensor<?x4xf32>
  // CHECK: tenon.linear {{.*}} : (tensor<?x16xf8E5M2>, tensor<4x16xf8E5M2>) -> tensor<?x4xf8E5M2>
  %1 = tenon.linear %x2, %w2 : (tensor<?x16xf8E5M2>, tensor<4x16xf8E5M2>) -> tensor<?x4xf8E5M2>
  %2 = tenon.mul %0, %r : tensor<?x4xf32>, tensor<?x1xf32>
  // CHECK: tenon.cast {{.*}} : tensor<?x4xf32> -> tensor<?x4xf8E4M3FN>
  %3 = tenon.cast %2 : tensor<?x4xf32> -> tensor<?x4xf8E4M3FN>
  // CHECK: tenon.cast {{.*}} : tensor<?x4xf8E5M2> -> tensor<?x4xbf16>
  %4 = tenon.cast %1 : tensor<?x4xf8E5M2> -> tensor<?x4xbf16>
  return
}

// CHECK-LABEL: @linear_element_types
func.func @linear_element_types(%h: tensor<?x8xf16>, %wh: tensor<4x8xf16>, %bf: tensor<?x8xbf16>, %wbf: tensor<4x8xbf16>,
                                %d: tensor<?x8xf64>, %wd: tensor<4x8xf64>, %b: tensor<4xf32>, %bd: tensor<4xf64>) {
  // CHECK: tenon.linear {{.*}} : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  %0 = tenon.linear %h, %wh : (tensor<?x8xf16>, tensor<4x8xf16>) -> tensor<?x4xf16>
  // CHECK: tenon.linear {{.*}} : (tensor<?x8xf16>, tensor<4x8xf16>, tensor<4xf32>) -> tensor<?x4xf32>
  %1 = tenon.linear %h, %wh, %b : (tensor<?x8xf16>, tensor<4x8xf16>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: tenon.linear {{.*}} : (tensor<?x8xbf16>, tensor<4x8xbf16>) -> tensor<?x4xbf16>
  %2 = tenon.linear %bf, %wbf : (tensor<?x8xbf16>, tensor<4x8xbf16>) -> tensor<?x4xbf16>
  // CHECK: tenon.linear {{.*}} : (tensor<?x8xbf16>, tensor<4x8xbf16>) -> tensor<?x4xf32>
  %3 = tenon.linear %bf, %wbf : (tensor<?x8xbf16>, tensor<4x8xbf16>) -> tensor<?x4xf32>
  // CHECK: tenon.linear {{.*}} : (tensor<?x8xf64>, tensor<4x8xf64>, tensor<4xf64>) -> tensor<?x4xf64>
  %4 = tenon.linear %d, %wd, %bd : (tensor<?x8xf64>, tensor<4x8xf64>, tensor<4xf64>) -> tensor<?x4xf64>
  return
}

// CHECK-LABEL: @binary
func.func @binary(%x: tensor<?x8xf32>, %n: tensor<8xf32>) {
  // CHECK: tenon.add %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8xf32>
  %0 = tenon.add %x, %n : tensor<?x8xf32>, tensor<8xf32>
  // CHECK: tenon.sub %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8xf32>
  %1 = tenon.sub %x, %n : tensor<?x8xf32>, tensor<8xf32>
  // CHECK: tenon.mul %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8xf32>
  %2 = tenon.mul %x, %n : tensor<?x8xf32>, tensor<8xf32>
  // CHECK: tenon.div %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8xf32>
  %3 = tenon.div %x, %n : tensor<?x8xf32>, tensor<8xf32>
  // CHECK: tenon.min %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8xf32>
  %4 = tenon.min %x, %n : tensor<?x8xf32>, tensor<8xf32>
  // CHECK: tenon.max %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8xf32>
  %5 = tenon.max %x, %n : tensor<?x8xf32>, tensor<8xf32>
  return
}

// CHECK-LABEL: @binary_constants
func.func @binary_constants(%x: tensor<?x8xf32>) {
  // CHECK: tenon.add %{{.*}}, 3.000000e+00 : tensor<?x8xf32>
  %0 = tenon.add %x, 3.0 : tensor<?x8xf32>
  // CHECK: tenon.sub -1.000000e+00, %{{.*}} : tensor<?x8xf32>
  %1 = tenon.sub -1.0, %x : tensor<?x8xf32>
  // CHECK: tenon.mul %{{.*}}, 1.000000e-01 {note} : tensor<?x8xf32>
  %2 = tenon.mul %x, 0.1 {note} : tensor<?x8xf32>
  // CHECK: tenon.div 1.000000e+00, %{{.*}} {note} : tensor<?x8xf32>
  %3 = tenon.div 1.0, %x {note} : tensor<?x8xf32>
  // CHECK: tenon.add %{{.*}}, -0.000000e+00 : tensor<?x8xf32>
  %4 = tenon.add %x, -0.0 : tensor<?x8xf32>
  // inf, -inf, NaN, the least positive f64, and one that f32 cannot hold.
  // CHECK: tenon.min %{{.*}}, 0x7FF0000000000000 : tensor<?x8xf32>
  %5 = tenon.min %x, 0x7FF0000000000000 : tensor<?x8xf32>
  // CHECK: tenon.max %{{.*}}, 0xFFF0000000000000 : tensor<?x8xf32>
  %6 = tenon.max %x, 0xFFF0000000000000 : tensor<?x8xf32>
  // CHECK: tenon.mul %{{.*}}, 0x7FF8000000000000 : tensor<?x8xf32>
  %7 = tenon.mul %x, 0x7FF8000000000000 : tensor<?x8xf32>
  // CHECK: tenon.mul %{{.*}}, 4.940660e-324 : tensor<?x8xf32>
  %8 = tenon.mul %x, 4.940660e-324 : tensor<?x8xf32>
  // CHECK: tenon.mul %{{.*}}, 1.2345678901234567 : tensor<?x8xf32>
  %9 = tenon.mul %x, 1.2345678901234567 : tensor<?x8xf32>
  return
}

// CHECK-LABEL: @unary
func.func @unary(%x: tensor<?x8xf32>) {
  // CHECK: tenon.relu %{{.*}} : tensor<?x8xf32>
  %0 = tenon.relu %x : tensor<?x8xf32>
  // The slope's default is not printed.
  // CHECK: tenon.leaky_relu %{{.*}} : tensor<?x8xf32>
  %1 = tenon.leaky_relu %x {negative_slope = 0.01} : tensor<?x8xf32>
  // CHECK: tenon.leaky_relu %{{.*}} {negative_slope = 1.000000e-01 : f64} : tensor<?x8xf32>
  %2 = tenon.leaky_relu %x {negative_slope = 0.1} : tensor<?x8xf32>
  // CHECK: tenon.gelu %{{.*}} : tensor<?x8xf32>
  %3 = tenon.gelu %x approximate<none> : tensor<?x8xf32>
  // CHECK: tenon.gelu %{{.*}} approximate<tanh> : tensor<?x8xf32>
  %4 = tenon.gelu %x approximate<tanh> : tensor<?x8xf32>
  // CHECK: tenon.silu %{{.*}} : tensor<?x8xf32>
  %5 = tenon.silu %x : tensor<?x8xf32>
  // CHECK: tenon.mish %{{.*}} : tensor<?x8xf32>
  %6 = tenon.mish %x : tensor<?x8xf32>
  // CHECK: tenon.sigmoid %{{.*}} : tensor<?x8xf32>
  %7 = tenon.sigmoid %x : tensor<?x8xf32>
  // CHECK: tenon.tanh %{{.*}} : tensor<?x8xf32>
  %8 = tenon.tanh %x : tensor<?x8xf32>
  // CHECK: tenon.clamp %{{.*}} {min = -1.000000e+00 : f64} : tensor<?x8xf32>
  %9 = tenon.clamp %x {min = -1.0} : tensor<?x8xf32>
  // CHECK: tenon.clamp %{{.*}} {max = 6.000000e+00 : f64, min = 0.000000e+00 : f64} : tensor<?x8xf32>
  %10 = tenon.clamp %x {min = 0.0, max = 6.0} : tensor<?x8xf32>
  // CHECK: tenon.round_tf32 %{{.*}} : tensor<?x8xf32>
  %11 = tenon.round_tf32 %x : tensor<?x8xf32>
  return
}

// CHECK-LABEL: @ranks_and_element_types
func.func @ranks_and_element_types(%s: tensor<f32>, %n: tensor<8xbf16>, %h: tensor<1x8xf16>, %d: tensor<?x1xf64>) {
  // CHECK: tenon.relu %{{.*}} : tensor<f32>
  %0 = tenon.relu %s : tensor<f32>
  // CHECK: tenon.tanh %{{.*}} : tensor<8xbf16>
  %1 = tenon.tanh %n : tensor<8xbf16>
  // CHECK: tenon.gelu %{{.*}} : tensor<1x8xf16>
  %2 = tenon.gelu %h : tensor<1x8xf16>
  // CHECK: tenon.mish %{{.*}} : tensor<?x1xf64>
  %3 = tenon.mish %d : tensor<?x1xf64>
  // CHECK: tenon.add %{{.*}}, %{{.*}} : tensor<1x8xf16>, tensor<f32>
  %4 = tenon.add %h, %s : tensor<1x8xf16>, tensor<f32>
  return
}

// CHECK-LABEL: @batch_norm_inference
func.func @batch_norm_inference(%x: tensor<?x8xf32>, %n: tensor<8xf32>) {
  // CHECK: tenon.batch_norm_inference %{{.*}} stats(%{{.*}}, %{{.*}}) : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>{{$}}
  %0 = tenon.batch_norm_inference %x stats(%n, %n) {eps = 1.0e-5} : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>
  // CHECK: tenon.batch_norm_inference %{{.*}} stats(%{{.*}}, %{{.*}}) weight(%{{.*}}) : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>{{$}}
  %1 = tenon.batch_norm_inference %x stats(%n, %n) weight(%n) : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  // CHECK: tenon.batch_norm_inference %{{.*}} stats(%{{.*}}, %{{.*}}) bias(%{{.*}}) : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>{{$}}
  %2 = tenon.batch_norm_inference %x stats(%n, %n) bias(%n) : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  // CHECK: tenon.batch_norm_inference %{{.*}} stats(%{{.*}}, %{{.*}}) weight(%{{.*}}) bias(%{{.*}}) {eps = 1.000000e-03 : f64} : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>{{$}}
  %3 = tenon.batch_norm_inference %x stats(%n, %n) weight(%n) bias(%n) {eps = 1.0e-3} : tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// CHECK-LABEL: @batch_norm_training
func.func @batch_norm_training(%x: tensor<?x8xbf16>, %n: tensor<8xf32>) {
  // CHECK: tenon.batch_norm_training %{{.*}} : (tensor<?x8xbf16>) -> tensor<?x8xbf16>
  %0 = tenon.batch_norm_training %x : (tensor<?x8xbf16>) -> tensor<?x8xbf16>
  // CHECK: tenon.batch_norm_training %{{.*}} weight(%{{.*}}) : (tensor<?x8xbf16>, tensor<8xf32>) -> tensor<?x8xbf16>
  %1 = tenon.batch_norm_training %x weight(%n) : (tensor<?x8xbf16>, tensor<8xf32>) -> tensor<?x8xbf16>
  // CHECK: tenon.batch_norm_training %{{.*}} bias(%{{.*}}) : (tensor<?x8xbf16>, tensor<8xf32>) -> tensor<?x8xbf16>
  %2 = tenon.batch_norm_training %x bias(%n) : (tensor<?x8xbf16>, tensor<8xf32>) -> tensor<?x8xbf16>
  // CHECK: %{{.*}}, %{{.*}}:2 = tenon.batch_norm_training %{{.*}} running(%{{.*}}, %{{.*}}) : (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>)
  %3:3 = tenon.batch_norm_training %x running(%n, %n) : (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>)
  // CHECK: tenon.batch_norm_training %{{.*}} weight(%{{.*}}) bias(%{{.*}}) running(%{{.*}}, %{{.*}}) {eps = 1.000000e-03 : f64, momentum = 2.000000e-01 : f64} :
  %4:3 = tenon.batch_norm_training %x weight(%n) bias(%n) running(%n, %n) {eps = 1.0e-3, momentum = 0.2} : (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>)
  return
}

// CHECK-LABEL: @saved_statistics
func.func @saved_statistics(%x: tensor<?x8xbf16>, %n: tensor<8xf32>) {
  // CHECK: tenon.batch_norm_training %{{.*}} {save_statistics} : (tensor<?x8xbf16>) -> (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>)
  %0:3 = tenon.batch_norm_training %x {save_statistics} : (tensor<?x8xbf16>) -> (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>)
  // CHECK: %{{.*}}, %{{.*}}:4 = tenon.batch_norm_training %{{.*}} running(%{{.*}}, %{{.*}}) {save_statistics} :
  %1:5 = tenon.batch_norm_training %x running(%n, %n) {save_statistics} : (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// CHECK-LABEL: @batch_moments
func.func @batch_moments(%x: tensor<1x8xbf16>, %d: tensor<?x8xf64>) {
  // CHECK: tenon.batch_moments %{{.*}} : (tensor<1x8xbf16>) -> (tensor<8xf32>, tensor<8xf32>)
  %0:2 = tenon.batch_moments %x : (tensor<1x8xbf16>) -> (tensor<8xf32>, tensor<8xf32>)
  // CHECK: tenon.batch_moments %{{.*}} : (tensor<?x8xf64>) -> (tensor<8xf64>, tensor<8xf64>)
  %1:2 = tenon.batch_moments %d : (tensor<?x8xf64>) -> (tensor<8xf64>, tensor<8xf64>)
  return
}

// CHECK-LABEL: @cast
func.func @cast(%x: tensor<?x8xf32>, %h: tensor<8xf16>, %c: tensor<4x1xbf16>, %s: tensor<f32>) {
  // CHECK: tenon.cast %{{.*}} : tensor<?x8xf32> -> tensor<?x8xbf16>
  %0 = tenon.cast %x : tensor<?x8xf32> -> tensor<?x8xbf16>
  // CHECK: tenon.cast %{{.*}} : tensor<8xf16> -> tensor<8xbf16>
  %1 = tenon.cast %h : tensor<8xf16> -> tensor<8xbf16>
  // CHECK: tenon.cast %{{.*}} : tensor<4x1xbf16> -> tensor<4x1xf32>
  %2 = tenon.cast %c : tensor<4x1xbf16> -> tensor<4x1xf32>
  // CHECK: tenon.cast %{{.*}} {note} : tensor<f32> -> tensor<f16>
  %3 = tenon.cast %s {note} : tensor<f32> -> tensor<f16>
  // CHECK: tenon.cast %{{.*}} : tensor<f32> -> tensor<f32>
  %4 = tenon.cast %s : tensor<f32> -> tensor<f32>
  return
}

// CHECK-LABEL: @fused_linear
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<4xf32>, %[[R:.*]]: tensor<?x4xf32>)
func.func @fused_linear(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf32>, %r: tensor<?x4xf32>) {
  // CHECK: tenon.fused_linear %[[X]], %[[W]] : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%[[ACC:.*]]: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CHECK-NEXT: %[[RELU:.*]] = tenon.relu %[[ACC]]
  // CHECK-NEXT: tenon.yield %[[RELU]] : tensor<?x4xf32>
  // CHECK-NEXT: }
  %0 = tenon.fused_linear %x, %w : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%acc: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %1 = tenon.relu %acc : tensor<?x4xf32>
    tenon.yield %1 : tensor<?x4xf32>
  }
  // Operands, two results, precision and attributes at once.
  // CHECK: tenon.fused_linear %[[X]], %[[W]] precision<tf32> : tensor<?x8xf32>, tensor<4x8xf32> epilogue(%[[ACC:.*]]: tensor<?x4xf32>, %[[BIAS:.*]] = %[[B]]: tensor<4xf32>, %[[RESIDUAL:.*]] = %[[R]]: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) attributes {note = 1 : i64} {
  // CHECK-NEXT: %[[SUM:.*]] = tenon.add %[[ACC]], %[[BIAS]]
  // CHECK-NEXT: %[[OUT:.*]] = tenon.add %[[SUM]], %[[RESIDUAL]]
  // CHECK-NEXT: tenon.yield %[[SUM]], %[[OUT]] : tensor<?x4xf32>, tensor<?x4xf32>
  %2:2 = tenon.fused_linear %x, %w precision<tf32> : tensor<?x8xf32>, tensor<4x8xf32>
      epilogue(%acc: tensor<?x4xf32>, %bias = %b: tensor<4xf32>, %residual = %r: tensor<?x4xf32>)
      -> (tensor<?x4xf32>, tensor<?x4xf32>) attributes {note = 1} {
    %3 = tenon.add %acc, %bias : tensor<?x4xf32>, tensor<4xf32>
    %4 = tenon.add %3, %residual : tensor<?x4xf32>, tensor<?x4xf32>
    tenon.yield %3, %4 : tensor<?x4xf32>, tensor<?x4xf32>
  }
  return
}

// The product of 16-bit tensors may be taken in f32; a reduction may stand in the region.
// CHECK-LABEL: @fused_linear_wide_product
func.func @fused_linear_wide_product(%x: tensor<32x8xbf16>, %w: tensor<4x8xbf16>, %n: tensor<4xf32>) {
  // CHECK: epilogue(%acc: tensor<32x4xf32>, %{{.*}} = %{{.*}}: tensor<4xf32>) -> (tensor<32x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = tenon.fused_linear %x, %w : tensor<32x8xbf16>, tensor<4x8xbf16>
      epilogue(%acc: tensor<32x4xf32>, %r = %n: tensor<4xf32>)
      -> (tensor<32x4xf32>, tensor<4xf32>, tensor<4xf32>) {
    // CHECK: tenon.batch_norm_training %acc running(
    %y, %mean, %var = tenon.batch_norm_training %acc running(%r, %r)
        : (tensor<32x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<32x4xf32>, tensor<4xf32>, tensor<4xf32>)
    tenon.yield %y, %mean, %var : tensor<32x4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return
}
