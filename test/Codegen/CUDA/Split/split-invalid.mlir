// RUN: tenon-opt %s --tenon-emit-kernels --split-input-file --verify-diagnostics

func.func @tensors(%x: tensor<?x64xf32>) -> tensor<?x128xf16> {
  // expected-error @below {{is on tensors; bufferize first}}
  %0:2 = tenon.split %x : (tensor<?x64xf32>) -> (tensor<?x128xf16>, tensor<?x1xf32>)
  return %0#0 : tensor<?x128xf16>
}

// -----

func.func @strided(%x: memref<8x64xf32, strided<[128, 1]>>, %h: memref<8x128xf16>, %f: memref<8x1xf32>) {
  // expected-error @below {{needs contiguous memrefs, but has 'memref<8x64xf32, strided<[128, 1]>>'}}
  tenon.split %x outs(%h, %f) : (memref<8x64xf32, strided<[128, 1]>>, memref<8x128xf16>, memref<8x1xf32>) -> ()
  return
}
