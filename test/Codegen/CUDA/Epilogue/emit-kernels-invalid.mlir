// RUN: tenon-opt %s --tenon-emit-kernels --split-input-file --verify-diagnostics

func.func @tensors(%y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{is on tensors; bufferize first}}
  %0 = tenon.epilogue ins(%a = %y: tensor<4x8xf32>) outs(%y: tensor<4x8xf32>) -> tensor<4x8xf32> {
    tenon.yield %a : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----

func.func @strided(%y: memref<4x8xf32, strided<[16, 1]>>) {
  // expected-error @below {{needs contiguous memrefs, but has 'memref<4x8xf32, strided<[16, 1]>>'}}
  tenon.epilogue ins(%a = %y: memref<4x8xf32, strided<[16, 1]>>) outs(%y: memref<4x8xf32, strided<[16, 1]>>) {
    tenon.yield %a : tensor<4x8xf32>
  }
  return
}

// -----

func.func @dynamic_columns(%y: memref<4x8xf32>, %z: memref<4x?xf32>) {
  // expected-error @below {{only the first dimension may be dynamic, but the last one is}}
  tenon.epilogue ins(%a = %y: memref<4x8xf32>, %unused = %z: memref<4x?xf32>) outs(%y: memref<4x8xf32>) {
    tenon.yield %a : tensor<4x8xf32>
  }
  return
}

// -----

func.func @no_columns(%y: memref<4x8xf32>, %z: memref<4x0xf32>) {
  // expected-error @below {{has no columns}}
  tenon.epilogue ins(%a = %y: memref<4x8xf32>, %unused = %z: memref<4x0xf32>) outs(%y: memref<4x8xf32>) {
    tenon.yield %a : tensor<4x8xf32>
  }
  return
}

// -----

func.func @reads_column_result(%y: memref<?x8xf32>, %m: memref<8xf32>, %v: memref<8xf32>) {
  tenon.epilogue ins(%a = %y: memref<?x8xf32>, %mean = %m: memref<8xf32>, %var = %v: memref<8xf32>) outs(%y: memref<?x8xf32>) {
    %1:3 = tenon.batch_norm_training %a running(%mean, %var) : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>)
    // expected-error @below {{reads a per-column result of 'tenon.batch_norm_training' in the same epilogue; only the epilogue's yield can}}
    %2 = tenon.add %1#0, %1#1 : tensor<?x8xf32>, tensor<8xf32>
    tenon.yield %2 : tensor<?x8xf32>
  }
  return
}

// -----

func.func @both_axes(%x: memref<4x8xf32>) {
  // expected-error @below {{reduces along M and along N; write an epilogue for each}}
  tenon.epilogue ins(%acc = %x: memref<4x8xf32>) outs(%x: memref<4x8xf32>) {
    %0 = tenon.batch_norm_training %acc : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = tenon.reduce_row max %0 : tensor<4x8xf32>
    %2 = tenon.sub %0, %1 : tensor<4x8xf32>, tensor<4x1xf32>
    tenon.yield %2 : tensor<4x8xf32>
  }
  return
}
