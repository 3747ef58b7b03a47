// RUN: tenon-opt %s --tenon-parallel-to-runtime --split-input-file --verify-diagnostics

func.func @reduces(%x: memref<8xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{reduces a value, but the order of its iterations is not fixed; reduce in a serial loop}}
  %0 = scf.parallel (%i) = (%c0) to (%c8) step (%c1) init (%zero) -> f32 {
    %1 = memref.load %x[%i] : memref<8xf32>
    scf.reduce(%1 : f32) {
    ^bb0(%a: f32, %b: f32):
      %2 = arith.addf %a, %b : f32
      scf.reduce.return %2 : f32
    }
  }
  return %0 : f32
}

// -----

func.func @captures_tensor(%x: tensor<8xf32>, %y: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{uses a value of type 'tensor<8xf32>' from outside, which has no form in the LLVM dialect; compute it inside the loop}}
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %0 = tensor.extract %x[%i] : tensor<8xf32>
    memref.store %0, %y[%i] : memref<8xf32>
  }
  return
}
