// Kernels hold products of f64 of two sizes; of each target's code the larger one that it has is left.
// REQUIRES: ptxas
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-serialize-kernels=targets=sm_80 | FileCheck %s --check-prefix=AMPERE --implicit-check-not=mma.sync.aligned.m16n8k8
// RUN: tenon-opt %s --tenon-emit-kernels --tenon-serialize-kernels=targets=sm_90 | FileCheck %s --check-prefix=HOPPER --implicit-check-not=mma.sync.aligned.m8n8k4

// AMPERE: .visible .entry moments_gram
// AMPERE: mma.sync.aligned.m8n8k4.row.col.f64
// AMPERE: .visible .entry moments_column_moments
// AMPERE: mma.sync.aligned.m8n8k4.row.col.f64
// HOPPER: .visible .entry moments_gram
// HOPPER: mma.sync.aligned.m16n8k8.row.col.f64
// HOPPER: .visible .entry moments_column_moments
// HOPPER: mma.sync.aligned.m16n8k8.row.col.f64
func.func @moments(%x: memref<?x64xbf16>, %w: memref<48x64xbf16>, %a: memref<48xf32>, %b: memref<48xf32>, %c: memref<48xf32>) {
  tenon.product_moments %x, %w outs(%a, %b, %c) : (memref<?x64xbf16>, memref<48x64xbf16>, memref<48xf32>, memref<48xf32>, memref<48xf32>) -> ()
  return
}
