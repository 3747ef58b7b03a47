// What goes into cuBLASLt's plan, and what is left to an epilogue kernel.
// RUN: tenon-opt %s --tenon-to-blaslt --split-input-file | FileCheck %s
// RUN: tenon-opt %s --tenon-to-blaslt --remarks-filter=tenon-to-blaslt --split-input-file --verify-diagnostics -o /dev/null

// CHECK-LABEL: @fuse_alpha_bias_relu
// CHECK: blaslt.plan n = 32, k = 64, compute = tf32 alpha = 2.000000e+00 bias activation = relu : f32 -> f32
// CHECK-NOT: tenon.epilogue
// CHECK: return
func.func @fuse_alpha_bias_relu(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{one cuBLASLt call does the whole layer}}
  %0 = tenon.fused_linear %x, %w precision<tf32> : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %b_ = %b: tensor<32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.mul %acc, 2.0 : tensor<?x32xf32>
    %2 = tenon.add %1, %b_ : tensor<?x32xf32>, tensor<32xf32>
    %3 = tenon.relu %2 : tensor<?x32xf32>
    tenon.yield %3 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// CHECK-LABEL: @fuse_residual_bias_gelu
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 residual bias activation = gelu_tanh : bf16 -> bf16
// CHECK-NOT: tenon.epilogue
// CHECK: return
func.func @fuse_residual_bias_gelu(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %c: tensor<?x32xbf16>, %b: tensor<32xbf16>) -> tensor<?x32xbf16> {
  // expected-remark @below {{one cuBLASLt call does the whole layer}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<?x32xbf16>, %c_ = %c: tensor<?x32xbf16>, %b_ = %b: tensor<32xbf16>) -> tensor<?x32xbf16> {
    %1 = tenon.add %c_, %acc : tensor<?x32xbf16>, tensor<?x32xbf16>
    %2 = tenon.add %1, %b_ : tensor<?x32xbf16>, tensor<32xbf16>
    %3 = tenon.gelu %2 approximate<tanh> : tensor<?x32xbf16>
    tenon.yield %3 : tensor<?x32xbf16>
  }
  return %0 : tensor<?x32xbf16>
}

// -----

// CHECK-LABEL: @fuse_bias_first_operand
// CHECK: blaslt.plan n = 32, k = 64, compute = bf16 bias : f32 -> f32
// CHECK-NOT: tenon.epilogue
// CHECK: return
func.func @fuse_bias_first_operand(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{one cuBLASLt call does the whole layer}}
  %0 = tenon.fused_linear %x, %w precision<bf16> : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %b_ = %b: tensor<32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.add %b_, %acc : tensor<32xf32>, tensor<?x32xf32>
    tenon.yield %1 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// CHECK-LABEL: @fuse_f64_alpha
// CHECK: blaslt.plan n = 32, k = 64, compute = f64 alpha = 1.000000e-01 : f64 -> f64
// CHECK-NOT: tenon.epilogue
// CHECK: return
func.func @fuse_f64_alpha(%x: tensor<?x64xf64>, %w: tensor<32x64xf64>) -> tensor<?x32xf64> {
  // expected-remark @below {{one cuBLASLt call does the whole layer}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf64>, tensor<32x64xf64>
      epilogue(%acc: tensor<?x32xf64>) -> tensor<?x32xf64> {
    %1 = tenon.mul %acc, 0.1 : tensor<?x32xf64>
    tenon.yield %1 : tensor<?x32xf64>
  }
  return %0 : tensor<?x32xf64>
}

// -----

// CHECK-LABEL: @no_fuse_f64_bias
// CHECK: blaslt.plan n = 32, k = 64, compute = f64 : f64 -> f64
// CHECK: tenon.epilogue
// CHECK: return
func.func @no_fuse_f64_bias(%x: tensor<?x64xf64>, %w: tensor<32x64xf64>, %b: tensor<32xf64>) -> tensor<?x32xf64> {
  // expected-remark @below {{it takes no bias in f64}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf64>, tensor<32x64xf64>
      epilogue(%acc: tensor<?x32xf64>, %b_ = %b: tensor<32xf64>) -> tensor<?x32xf64> {
    %1 = tenon.add %acc, %b_ : tensor<?x32xf64>, tensor<32xf64>
    tenon.yield %1 : tensor<?x32xf64>
  }
  return %0 : tensor<?x32xf64>
}

// -----

// CHECK-LABEL: @no_fuse_scale_after_bias
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 : f32 -> f32
// CHECK: tenon.epilogue
// CHECK: return
func.func @no_fuse_scale_after_bias(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{'tenon.mul' cannot come at its place}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %b_ = %b: tensor<32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.add %acc, %b_ : tensor<?x32xf32>, tensor<32xf32>
    %2 = tenon.mul %1, 2.0 : tensor<?x32xf32>
    tenon.yield %2 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// CHECK-LABEL: @no_fuse_residual_after_bias
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 : f32 -> f32
// CHECK: tenon.epilogue
// CHECK: return
func.func @no_fuse_residual_after_bias(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>, %c: tensor<?x32xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{'tenon.add' cannot come at its place}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %b_ = %b: tensor<32xf32>, %c_ = %c: tensor<?x32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.add %acc, %b_ : tensor<?x32xf32>, tensor<32xf32>
    %2 = tenon.add %1, %c_ : tensor<?x32xf32>, tensor<?x32xf32>
    tenon.yield %2 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// CHECK-LABEL: @no_fuse_scale_by_zero
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 : f32 -> f32
// CHECK: tenon.epilogue
// CHECK: return
func.func @no_fuse_scale_by_zero(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{'tenon.mul' cannot come at its place}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.mul %acc, 0.0 : tensor<?x32xf32>
    tenon.yield %1 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// CHECK-LABEL: @no_fuse_scale_that_underflows
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 : f32 -> f32
// CHECK: tenon.epilogue
// CHECK: return
func.func @no_fuse_scale_that_underflows(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{'tenon.mul' cannot come at its place}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.mul %acc, 1.0e-60 : tensor<?x32xf32>
    tenon.yield %1 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// CHECK-LABEL: @no_fuse_exact_gelu
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 : f32 -> f32
// CHECK: tenon.epilogue
// CHECK: return
func.func @no_fuse_exact_gelu(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{'tenon.gelu' cannot come at its place}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.gelu %acc : tensor<?x32xf32>
    tenon.yield %1 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// cuBLASLt's tanh is an approximation, good enough for bf16 alone.

// CHECK-LABEL: @no_fuse_gelu_tanh_of_f32
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 : f32 -> f32
// CHECK: tenon.epilogue
// CHECK: return
func.func @no_fuse_gelu_tanh_of_f32(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{'tenon.gelu' cannot come at its place}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.gelu %acc approximate<tanh> : tensor<?x32xf32>
    tenon.yield %1 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// CHECK-LABEL: @no_fuse_bias_of_another_type
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 : bf16 -> bf16
// CHECK: tenon.epilogue
// CHECK: return
func.func @no_fuse_bias_of_another_type(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xf32>) -> tensor<?x32xbf16> {
  // expected-remark @below {{the bias is not of the result's type}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<?x32xbf16>, %b_ = %b: tensor<32xf32>) -> tensor<?x32xbf16> {
    %1 = tenon.add %acc, %b_ : tensor<?x32xbf16>, tensor<32xf32>
    tenon.yield %1 : tensor<?x32xbf16>
  }
  return %0 : tensor<?x32xbf16>
}

// -----

// CHECK-LABEL: @no_fuse_scale_vector
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 : f32 -> f32
// CHECK: tenon.epilogue
// CHECK: return
func.func @no_fuse_scale_vector(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{'tenon.mul' cannot come at its place}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %b_ = %b: tensor<32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.mul %acc, %b_ : tensor<?x32xf32>, tensor<32xf32>
    tenon.yield %1 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// CHECK-LABEL: @no_fuse_used_twice
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 : f32 -> f32
// CHECK: tenon.epilogue
// CHECK: return
func.func @no_fuse_used_twice(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{a value is used twice}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.silu %acc : tensor<?x32xf32>
    %2 = tenon.mul %1, %acc : tensor<?x32xf32>, tensor<?x32xf32>
    tenon.yield %2 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// CHECK-LABEL: @no_fuse_two_results
// CHECK: blaslt.plan n = 32, k = 64, compute = f16 : f32 -> f32
// CHECK: tenon.epilogue
// CHECK: return
func.func @no_fuse_two_results(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  // expected-remark @below {{it writes one result, not 2}}
  %0:2 = tenon.fused_linear %x, %w precision<fp16> : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
    %1 = tenon.relu %acc : tensor<?x32xf32>
    %2 = tenon.tanh %acc : tensor<?x32xf32>
    tenon.yield %1, %2 : tensor<?x32xf32>, tensor<?x32xf32>
  }
  return %0#0, %0#1 : tensor<?x32xf32>, tensor<?x32xf32>
}

// -----

// In 16 bits the product is rounded when it is written: what cuBLASLt can do
// before the obstacle comes before the rounding.
// CHECK-LABEL: @prefix_in_16_bits
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 bias : bf16 -> bf16
// CHECK: tenon.epilogue ins(%[[ACC:[a-z0-9]+]] = %{{[a-z0-9]+}}: tensor<?x32xbf16>) outs
// CHECK-NEXT: tenon.mul %[[ACC]], 2.0
// CHECK-NEXT: tenon.leaky_relu
// CHECK-NEXT: tenon.yield
func.func @prefix_in_16_bits(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xbf16>) -> tensor<?x32xbf16> {
  // expected-remark @below {{'tenon.mul' cannot come at its place}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<?x32xbf16>, %b_ = %b: tensor<32xbf16>) -> tensor<?x32xbf16> {
    %1 = tenon.add %acc, %b_ : tensor<?x32xbf16>, tensor<32xbf16>
    %2 = tenon.mul %1, 2.0 : tensor<?x32xbf16>
    %3 = tenon.leaky_relu %2 {negative_slope = 0.1} : tensor<?x32xbf16>
    tenon.yield %3 : tensor<?x32xbf16>
  }
  return %0 : tensor<?x32xbf16>
}

// -----

// A value before the prefix's end that is used again ends the prefix there.
// CHECK-LABEL: @prefix_ends_at_second_use
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 bias : f16 -> f16
// CHECK: tenon.epilogue ins(%[[ACC:[a-z0-9]+]] = %{{[a-z0-9]+}}: tensor<?x32xf16>) outs
// CHECK-NEXT: tenon.sigmoid %[[ACC]]
// CHECK-NEXT: tenon.mul %[[ACC]], %{{.*}}
func.func @prefix_ends_at_second_use(%x: tensor<?x64xf16>, %w: tensor<32x64xf16>, %b: tensor<32xf16>) -> tensor<?x32xf16> {
  // expected-remark @below {{a value is used twice}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
      epilogue(%acc: tensor<?x32xf16>, %b_ = %b: tensor<32xf16>) -> tensor<?x32xf16> {
    %1 = tenon.add %acc, %b_ : tensor<?x32xf16>, tensor<32xf16>
    %2 = tenon.sigmoid %1 : tensor<?x32xf16>
    %3 = tenon.mul %1, %2 : tensor<?x32xf16>, tensor<?x32xf16>
    tenon.yield %3 : tensor<?x32xf16>
  }
  return %0 : tensor<?x32xf16>
}

// -----

// In f32 the bare product is as good.
// CHECK-LABEL: @no_prefix_in_32_bits
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 : f32 -> f32
func.func @no_prefix_in_32_bits(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  // expected-remark @below {{'tenon.leaky_relu' cannot come at its place}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %b_ = %b: tensor<32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.add %acc, %b_ : tensor<?x32xf32>, tensor<32xf32>
    %2 = tenon.leaky_relu %1 {negative_slope = 0.1} : tensor<?x32xf32>
    tenon.yield %2 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// What comes before the cast is in the product's type, and in its plan; an f32 result gets memory of its own.
// CHECK-LABEL: @no_fuse_cast
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 bias activation = relu : bf16 -> bf16
// CHECK: %[[Y:.*]] = blaslt.run
// CHECK: %[[INIT:.*]] = tensor.empty(%{{.*}}) : tensor<?x32xf32>
// CHECK: tenon.epilogue ins(%[[ACC:.*]] = %[[Y]]: tensor<?x32xbf16>) outs(%[[INIT]]: tensor<?x32xf32>)
// CHECK-NEXT: tenon.cast %[[ACC]]
// CHECK-NEXT: tenon.yield
func.func @no_fuse_cast(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xbf16>) -> tensor<?x32xf32> {
  // expected-remark @below {{'tenon.cast' cannot come at its place}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
      epilogue(%acc: tensor<?x32xbf16>, %b_ = %b: tensor<32xbf16>) -> tensor<?x32xf32> {
    %1 = tenon.add %acc, %b_ : tensor<?x32xbf16>, tensor<32xbf16>
    %2 = tenon.relu %1 : tensor<?x32xbf16>
    %3 = tenon.cast %2 : tensor<?x32xbf16> -> tensor<?x32xf32>
    tenon.yield %3 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// -----

// Casts outside a product are one kernel with the ops around them.
// CHECK-LABEL: @casts_in_one_kernel
// CHECK-COUNT-1: tenon.epilogue
// CHECK-NEXT: tenon.cast
// CHECK-NEXT: tenon.mul
// CHECK-NEXT: tenon.cast
// CHECK-NEXT: tenon.yield
// CHECK-NOT: tenon.epilogue
func.func @casts_in_one_kernel(%x: tensor<?x32xbf16>, %s: tensor<32xf32>) -> tensor<?x32xf16> {
  %0 = tenon.cast %x : tensor<?x32xbf16> -> tensor<?x32xf32>
  %1 = tenon.mul %0, %s : tensor<?x32xf32>, tensor<32xf32>
  %2 = tenon.cast %1 : tensor<?x32xf32> -> tensor<?x32xf16>
  return %2 : tensor<?x32xf16>
}

// -----

// Of 8 bits the plan has scales of rows, a bias and the cast; what follows is computed of 16 bits.
// CHECK-LABEL: @scaled_rows
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 bias scales = rows : f8E4M3FN -> bf16
// CHECK: blaslt.run {{.*}} scales(%{{.*}}, %{{.*}} : tensor<?x1xf32>, tensor<32xf32>) bias(%{{.*}} : tensor<32xbf16>)
// CHECK: tenon.epilogue {{.*}}tensor<?x32xbf16>
// CHECK-NEXT: tenon.silu
// CHECK-NEXT: tenon.yield
func.func @scaled_rows(%x: tensor<?x64xf8E4M3FN>, %w: tensor<32x64xf8E4M3FN>, %s: tensor<?x1xf32>, %t: tensor<32xf32>,
                       %b: tensor<32xbf16>) -> tensor<?x32xbf16> {
  // expected-remark @below {{a cuBLASLt product and one epilogue}}
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>
      epilogue(%acc: tensor<?x32xf32>, %s_ = %s: tensor<?x1xf32>, %t_ = %t: tensor<32xf32>, %b_ = %b: tensor<32xbf16>) -> tensor<?x32xbf16> {
    %1 = tenon.mul %acc, %s_ : tensor<?x32xf32>, tensor<?x1xf32>
    %2 = tenon.mul %1, %t_ : tensor<?x32xf32>, tensor<32xf32>
    %3 = tenon.add %2, %b_ : tensor<?x32xf32>, tensor<32xbf16>
    %4 = tenon.cast %3 : tensor<?x32xf32> -> tensor<?x32xbf16>
    %5 = tenon.silu %4 : tensor<?x32xbf16>
    tenon.yield %5 : tensor<?x32xbf16>
  }
  return %0 : tensor<?x32xbf16>
}

// -----

// Numbers for whole matrices are the epilogue's.
// CHECK-LABEL: @scaled_tensors
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 : f8E4M3FN -> f32
// CHECK: tenon.epilogue
func.func @scaled_tensors(%x: tensor<8x64xf8E4M3FN>, %w: tensor<32x64xf8E4M3FN>, %s: tensor<f32>, %t: tensor<f32>) -> tensor<8x32xf16> {
  // expected-remark @below {{a cuBLASLt product and one epilogue}}
  %0 = tenon.fused_linear %x, %w : tensor<8x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>
      epilogue(%acc: tensor<8x32xf32>, %s_ = %s: tensor<f32>, %t_ = %t: tensor<f32>) -> tensor<8x32xf16> {
    %1 = tenon.mul %acc, %t_ : tensor<8x32xf32>, tensor<f32>
    %2 = tenon.mul %1, %s_ : tensor<8x32xf32>, tensor<f32>
    %3 = tenon.cast %2 : tensor<8x32xf32> -> tensor<8x32xf16>
    tenon.yield %3 : tensor<8x32xf16>
  }
  return %0 : tensor<8x32xf16>
}

// -----

// One scale alone, rows of a result of f16, and a bias of another type are the epilogue's.
// CHECK-LABEL: @no_scales_of_some
// CHECK-COUNT-3: blaslt.plan n = 32, k = 64, compute = f32 : f8E4M3FN -> f32
func.func @no_scales_of_some(%x: tensor<8x64xf8E4M3FN>, %w: tensor<32x64xf8E4M3FN>, %s: tensor<8x1xf32>, %t: tensor<32xf32>,
                             %b: tensor<32xf32>) -> (tensor<8x32xbf16>, tensor<8x32xf16>, tensor<8x32xbf16>) {
  // expected-remark @below {{a cuBLASLt product and one epilogue}}
  %0 = tenon.fused_linear %x, %w : tensor<8x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>
      epilogue(%acc: tensor<8x32xf32>, %s_ = %s: tensor<8x1xf32>) -> tensor<8x32xbf16> {
    %3 = tenon.mul %acc, %s_ : tensor<8x32xf32>, tensor<8x1xf32>
    %4 = tenon.cast %3 : tensor<8x32xf32> -> tensor<8x32xbf16>
    tenon.yield %4 : tensor<8x32xbf16>
  }
  // expected-remark @below {{a cuBLASLt product and one epilogue}}
  %1 = tenon.fused_linear %x, %w : tensor<8x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>
      epilogue(%acc: tensor<8x32xf32>, %s_ = %s: tensor<8x1xf32>, %t_ = %t: tensor<32xf32>) -> tensor<8x32xf16> {
    %3 = tenon.mul %acc, %s_ : tensor<8x32xf32>, tensor<8x1xf32>
    %4 = tenon.mul %3, %t_ : tensor<8x32xf32>, tensor<32xf32>
    %5 = tenon.cast %4 : tensor<8x32xf32> -> tensor<8x32xf16>
    tenon.yield %5 : tensor<8x32xf16>
  }
  // expected-remark @below {{a cuBLASLt product and one epilogue}}
  %2 = tenon.fused_linear %x, %w : tensor<8x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>
      epilogue(%acc: tensor<8x32xf32>, %b_ = %b: tensor<32xf32>) -> tensor<8x32xbf16> {
    %3 = tenon.add %acc, %b_ : tensor<8x32xf32>, tensor<32xf32>
    %4 = tenon.cast %3 : tensor<8x32xf32> -> tensor<8x32xbf16>
    tenon.yield %4 : tensor<8x32xbf16>
  }
  return %0, %1, %2 : tensor<8x32xbf16>, tensor<8x32xf16>, tensor<8x32xbf16>
}
