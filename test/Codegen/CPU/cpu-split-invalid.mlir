// RUN: tenon-opt %s --tenon-cpu-split --split-input-file --verify-diagnostics

func.func @on_tensors(%x: tensor<8x8xf32>) -> tensor<8x8xf16> {
  // expected-error @below {{cannot become loops: its operands must be buffers; run --tenon-bufferize first}}
  %0:2 = tenon.split %x : (tensor<8x8xf32>) -> (tensor<8x8xf16>, tensor<8x1xf32>)
  return %0#0 : tensor<8x8xf16>
}

// -----

func.func @columns_apart(%x: memref<8x8xf32, strided<[16, 2]>>, %h: memref<8x8xf16>, %f: memref<8x1xf32>) {
  // expected-error @below {{needs contiguous rows, but has 'memref<8x8xf32, strided<[16, 2]>>'; copy it to a buffer without a layout}}
  tenon.split %x outs(%h, %f) : (memref<8x8xf32, strided<[16, 2]>>, memref<8x8xf16>, memref<8x1xf32>) -> ()
  return
}

// -----

func.func @halves_apart(%x: memref<8x8xf32>, %h: memref<8x8xf16, strided<[1, 8]>>, %f: memref<8x1xf32>) {
  // expected-error @below {{needs contiguous rows, but has 'memref<8x8xf16, strided<[1, 8]>>'; copy it to a buffer without a layout}}
  tenon.split %x outs(%h, %f) : (memref<8x8xf32>, memref<8x8xf16, strided<[1, 8]>>, memref<8x1xf32>) -> ()
  return
}
