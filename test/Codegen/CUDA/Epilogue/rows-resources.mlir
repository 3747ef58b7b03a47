// Kernels that keep a row's words have 64 registers, and do not spill.
// REQUIRES: ptxas
// RUN: tenon-compile %s --target=sm_80,sm_90a --strategy=library --remarks-filter=tenon-kernels -o %t.so 2>&1 | FileCheck %s --allow-empty --implicit-check-not=spill
// RUN: tenon-compile %s --target=sm_90a --strategy=library --emit=ptx -o - | FileCheck %s --check-prefix=WORDS
// CHECK-NOT: error:

// WORDS: .entry log_softmax_rows_v8(
// WORDS: .minnctapersm 2
// WORDS-COUNT-8: ld.global.v4.b32
func.func @log_softmax(%x: tensor<?x64xbf16>, %w: tensor<32768x64xbf16>) -> tensor<?x32768xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32768x64xbf16>
      epilogue(%acc: tensor<?x32768xbf16>) -> tensor<?x32768xbf16> {
    %z = tenon.cast %acc : tensor<?x32768xbf16> -> tensor<?x32768xf32>
    %max = tenon.reduce_row max %z : tensor<?x32768xf32>
    %d = tenon.sub %z, %max : tensor<?x32768xf32>, tensor<?x1xf32>
    %p = tenon.exp %d : tensor<?x32768xf32>
    %sum = tenon.reduce_row sum %p : tensor<?x32768xf32>
    %log = tenon.log %sum : tensor<?x1xf32>
    %g = tenon.sub %d, %log : tensor<?x32768xf32>, tensor<?x1xf32>
    %y = tenon.cast %g : tensor<?x32768xf32> -> tensor<?x32768xbf16>
    tenon.yield %y : tensor<?x32768xbf16>
  }
  return %0 : tensor<?x32768xbf16>
}

// WORDS: .entry softmax_rows_v8(
// WORDS: .minnctapersm 2
// WORDS-COUNT-8: ld.global.v4.b32
func.func @softmax(%x: tensor<?x64xf16>, %w: tensor<32000x64xf16>) -> tensor<?x32000xf16> {
  %0 = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32000x64xf16>
      epilogue(%acc: tensor<?x32000xf16>) -> tensor<?x32000xf16> {
    %z = tenon.cast %acc : tensor<?x32000xf16> -> tensor<?x32000xf32>
    %max = tenon.reduce_row max %z : tensor<?x32000xf32>
    %d = tenon.sub %z, %max : tensor<?x32000xf32>, tensor<?x1xf32>
    %p = tenon.exp %d : tensor<?x32000xf32>
    %sum = tenon.reduce_row sum %p : tensor<?x32000xf32>
    %g = tenon.div %p, %sum : tensor<?x32000xf32>, tensor<?x1xf32>
    %y = tenon.cast %g : tensor<?x32000xf32> -> tensor<?x32000xf16>
    tenon.yield %y : tensor<?x32000xf16>
  }
  return %0 : tensor<?x32000xf16>
}

// WORDS: .entry norm_rows_v8(
// WORDS: .minnctapersm 2
// WORDS-COUNT-8: ld.global.v4.b32
func.func @norm(%x: tensor<?x64xbf16>, %w: tensor<32768x64xbf16>, %g: tensor<32768xf32>) -> tensor<?x32768xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32768x64xbf16>
      epilogue(%acc: tensor<?x32768xbf16>, %ga = %g: tensor<32768xf32>) -> tensor<?x32768xbf16> {
    %z = tenon.cast %acc : tensor<?x32768xbf16> -> tensor<?x32768xf32>
    %mean = tenon.reduce_row mean %z : tensor<?x32768xf32>
    %d = tenon.sub %z, %mean : tensor<?x32768xf32>, tensor<?x1xf32>
    %q = tenon.mul %d, %d : tensor<?x32768xf32>, tensor<?x32768xf32>
    %var = tenon.reduce_row mean %q : tensor<?x32768xf32>
    %e = tenon.add %var, 1.0e-05 : tensor<?x1xf32>
    %inv = tenon.rsqrt %e : tensor<?x1xf32>
    %f = tenon.mul %d, %inv : tensor<?x32768xf32>, tensor<?x1xf32>
    %h = tenon.mul %f, %ga : tensor<?x32768xf32>, tensor<32768xf32>
    %i = tenon.add %h, %ga : tensor<?x32768xf32>, tensor<32768xf32>
    %s = tenon.silu %i : tensor<?x32768xf32>
    %y = tenon.cast %s : tensor<?x32768xf32> -> tensor<?x32768xbf16>
    tenon.yield %y : tensor<?x32768xbf16>
  }
  return %0 : tensor<?x32768xbf16>
}
