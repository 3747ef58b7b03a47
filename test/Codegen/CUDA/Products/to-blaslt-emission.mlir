// RUN: tenon-opt %s --tenon-to-blaslt --split-input-file | FileCheck %s --implicit-check-not=tenon.linear --implicit-check-not=tenon.fused_linear

// CHECK-LABEL: @linear_with_bias
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[W:.*]]: tensor<32x64xf32>, %[[B:.*]]: tensor<32xf32>
// CHECK: %[[WS:.*]] = bufferization.alloc_tensor() : tensor<33554432xi8>
// CHECK: %[[PLAN:.*]] = blaslt.plan n = 32, k = 64, compute = f32 bias : f32 -> f32
// CHECK: %[[M:.*]] = tensor.dim %[[X]]
// CHECK: %[[INIT:.*]] = tensor.empty(%[[M]]) : tensor<?x32xf32>
// CHECK: %[[Y:.*]] = blaslt.run %[[PLAN]] ins(%[[X]], %[[W]] : {{.*}}) bias(%[[B]] : tensor<32xf32>) workspace(%[[WS]] : {{.*}}) outs(%[[INIT]] : {{.*}})
// CHECK: return %[[Y]]
func.func @linear_with_bias(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  %0 = tenon.linear %x, %w, %b : (tensor<?x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// -----

// CHECK-LABEL: @linear_with_wide_bias
// CHECK: blaslt.plan n = 32, k = 64, compute = f32 : bf16 -> bf16
// CHECK: %[[Y:.*]] = blaslt.run
// CHECK: tenon.epilogue ins(%[[ACC:.*]] = %[[Y]]: tensor<?x32xbf16>, %[[B:.*]] = %{{.*}}: tensor<32xf32>) outs(%[[Y]]: tensor<?x32xbf16>)
// CHECK-NEXT: tenon.add %[[ACC]], %[[B]]
func.func @linear_with_wide_bias(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %b: tensor<32xf32>) -> tensor<?x32xbf16> {
  %0 = tenon.linear %x, %w, %b : (tensor<?x64xbf16>, tensor<32x64xbf16>, tensor<32xf32>) -> tensor<?x32xbf16>
  return %0 : tensor<?x32xbf16>
}

// -----

// One workspace serves both layers.
// CHECK-LABEL: @two_layers
// CHECK-COUNT-1: bufferization.alloc_tensor
// CHECK-NOT: bufferization.alloc_tensor
// CHECK-COUNT-2: blaslt.run
func.func @two_layers(%x: tensor<8x32xf32>, %w: tensor<32x32xf32>) -> tensor<8x32xf32> {
  %0 = tenon.linear %x, %w : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
  %1 = tenon.linear %0, %w precision<tf32> : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}

// -----

// The product itself is a result: it keeps its buffer and needs no kernel.
// CHECK-LABEL: @product_is_a_result
// CHECK: %[[Y:.*]] = blaslt.run
// CHECK: %[[INIT:.*]] = tensor.empty(%{{.*}}) : tensor<?x32xf32>
// CHECK: %[[Z:.*]] = tenon.epilogue ins({{.*}} = %[[Y]]: tensor<?x32xf32>) outs(%[[INIT]]: tensor<?x32xf32>) -> tensor<?x32xf32>
// CHECK: return %[[Z]], %[[Y]]
func.func @product_is_a_result(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %0:2 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
    %1 = tenon.mish %acc : tensor<?x32xf32>
    tenon.yield %1, %acc : tensor<?x32xf32>, tensor<?x32xf32>
  }
  return %0#0, %0#1 : tensor<?x32xf32>, tensor<?x32xf32>
}

// -----

// The first result of the product's type takes its buffer; statistics get theirs.
// CHECK-LABEL: @batch_norm
// CHECK: %[[Y:.*]] = blaslt.run
// CHECK: %[[M:.*]] = tensor.empty() : tensor<32xf32>
// CHECK: %[[V:.*]] = tensor.empty() : tensor<32xf32>
// CHECK: tenon.epilogue ins({{.*}} = %[[Y]]: {{.*}}) outs(%[[Y]]: tensor<?x32xf32>, %[[M]]: tensor<32xf32>, %[[V]]: tensor<32xf32>)
// CHECK: tenon.batch_norm_training
func.func @batch_norm(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>) -> (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %0:3 = tenon.fused_linear %x, %w : tensor<?x64xf32>, tensor<32x64xf32>
      epilogue(%acc: tensor<?x32xf32>, %m_ = %m: tensor<32xf32>, %v_ = %v: tensor<32xf32>) -> (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>) {
    %1:3 = tenon.batch_norm_training %acc running(%m_, %v_) : (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>)
    tenon.yield %1#0, %1#1, %1#2 : tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>
}

// -----

// What a prepare function is made of: chains become one epilogue each, constants join their users.
// CHECK-LABEL: @prepare
// CHECK: %[[S:.*]] = tenon.epilogue ins(%{{.*}} = %{{.*}}: tensor<32xf32>)
// CHECK-NEXT: %[[EPS:.*]] = arith.constant dense<{{.*}}> : tensor<32xf32>
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %{{.*}}, %[[EPS]]
// CHECK-NEXT: math.sqrt %[[SUM]]
// CHECK-NEXT: tenon.yield
// CHECK: %[[E:.*]] = tensor.expand_shape %[[S]]
// CHECK: tenon.epilogue ins({{.*}}, %{{.*}} = %[[E]]: tensor<32x1xf32>)
// CHECK-NEXT: tenon.mul
// CHECK-NEXT: tenon.yield
// CHECK-NOT: tenon.epilogue
func.func @prepare(%w: tensor<32x64xf32>, %s: tensor<32xf32>) -> tensor<32x64xf32> {
  %e = arith.constant dense<1.0e-5> : tensor<32xf32>
  %0 = arith.addf %s, %e : tensor<32xf32>
  %1 = math.sqrt %0 : tensor<32xf32>
  %2 = tensor.expand_shape %1 [[0, 1]] output_shape [32, 1] : tensor<32xf32> into tensor<32x1xf32>
  %3 = tenon.mul %w, %2 : tensor<32x64xf32>, tensor<32x1xf32>
  return %3 : tensor<32x64xf32>
}

// -----

// A value that is read elsewhere too is an epilogue of its own.
// CHECK-LABEL: @shared_value
// CHECK-COUNT-2: tenon.epilogue
func.func @shared_value(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %0 = tenon.tanh %x : tensor<?x64xf32>
  %1 = tenon.relu %0 : tensor<?x64xf32>
  return %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
}

// A result that is not of the product's rows has those of the operand that it is made of.
// CHECK-LABEL: func.func @other_rows(
// CHECK-SAME:    %[[B:[^ ]*]]: tensor<?x16xf32>)
// CHECK:         %[[ROWS:.*]] = tensor.dim %[[B]], %{{.*}} : tensor<?x16xf32>
// CHECK:         tensor.empty(%[[ROWS]]) : tensor<?x16xf32>
func.func @other_rows(%x: tensor<1x64xf32>, %w: tensor<16x64xf32>, %b: tensor<?x16xf32>)
    -> (tensor<1x16xf32>, tensor<?x16xf32>) {
  %0:2 = tenon.fused_linear %x, %w : tensor<1x64xf32>, tensor<16x64xf32>
      epilogue(%acc: tensor<1x16xf32>, %b_ = %b: tensor<?x16xf32>) -> (tensor<1x16xf32>, tensor<?x16xf32>) {
    %1 = tenon.relu %b_ : tensor<?x16xf32>
    tenon.yield %acc, %1 : tensor<1x16xf32>, tensor<?x16xf32>
  }
  return %0#0, %0#1 : tensor<1x16xf32>, tensor<?x16xf32>
}
