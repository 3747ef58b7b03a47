// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" | FileCheck %s --check-prefix=BUFFER

// CHECK-LABEL: @in_place
// BUFFER-LABEL: @in_place
// BUFFER-NOT: memref.alloc
// BUFFER-NOT: memref.copy
// BUFFER: tenon.epilogue ins(%{{.*}} = %[[Y:.*]]: memref<?x32xf32>, {{.*}}) outs(%[[Y]]: memref<?x32xf32>) {
// BUFFER: tenon.mish %{{.*}} : tensor<?x32xf32>
func.func @in_place(%y: tensor<?x32xf32>, %b: tensor<32xf32>) -> tensor<?x32xf32> {
  // CHECK: tenon.epilogue ins(%[[ACC:.*]] = %[[Y:.*]]: tensor<?x32xf32>, %[[B:.*]] = %{{.*}}: tensor<32xf32>) outs(%[[Y]]: tensor<?x32xf32>) -> tensor<?x32xf32> {
  // CHECK: tenon.add %[[ACC]], %[[B]]
  %0 = tenon.epilogue ins(%acc = %y: tensor<?x32xf32>, %bias = %b: tensor<32xf32>)
      outs(%y: tensor<?x32xf32>) -> tensor<?x32xf32> {
    %1 = tenon.add %acc, %bias : tensor<?x32xf32>, tensor<32xf32>
    %2 = tenon.mish %1 : tensor<?x32xf32>
    tenon.yield %2 : tensor<?x32xf32>
  }
  return %0 : tensor<?x32xf32>
}

// What every row reads must not be overwritten by one of them.
// BUFFER-LABEL: @bias_is_not_output
// BUFFER: memref.alloc() {{.*}} : memref<32xf32>
func.func @bias_is_not_output(%y: tensor<?x32xf32>, %b: tensor<32xf32>) -> (tensor<?x32xf32>, tensor<32xf32>) {
  %0:2 = tenon.epilogue ins(%acc = %y: tensor<?x32xf32>, %bias = %b: tensor<32xf32>)
      outs(%y: tensor<?x32xf32>, %b: tensor<32xf32>) -> (tensor<?x32xf32>, tensor<32xf32>) {
    %1 = tenon.add %acc, %bias : tensor<?x32xf32>, tensor<32xf32>
    %2 = tenon.mul %bias, 2.0 : tensor<32xf32>
    tenon.yield %1, %2 : tensor<?x32xf32>, tensor<32xf32>
  }
  return %0#0, %0#1 : tensor<?x32xf32>, tensor<32xf32>
}

// Running statistics are read where they are written.
// BUFFER-LABEL: @running_in_place
// BUFFER-NOT: memref.alloc
// BUFFER-NOT: memref.copy
// BUFFER: return
func.func @running_in_place(%y: tensor<?x32xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>)
    -> (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %0:3 = tenon.epilogue ins(%acc = %y: tensor<?x32xf32>, %mean = %m: tensor<32xf32>, %var = %v: tensor<32xf32>)
      outs(%y: tensor<?x32xf32>, %m: tensor<32xf32>, %v: tensor<32xf32>)
      -> (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>) {
    %1:3 = tenon.batch_norm_training %acc running(%mean, %var)
        : (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>)
    tenon.yield %1#0, %1#1, %1#2 : tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<?x32xf32>, tensor<32xf32>, tensor<32xf32>
}
