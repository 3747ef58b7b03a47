// On a real GPU: compiled for it, run there, compared with the float64 reference.
// REQUIRES: gpu
// RUN: tenon-run %s --target=cuda --dim m=1000 --check --time=3 | FileCheck %s
// CHECK:      forward on GPU 0 (
// CHECK-NEXT: y0: float32 [1000, 256], {{.*}} (tolerance 1e-05): ok
// CHECK-NEXT: error against float64 Tenon SGEMM
// CHECK-NEXT: y0, max {{.*}} (fp32) {{.*}} (fp32)
// CHECK-NEXT: y0, rms {{.*}} (fp32) {{.*}} (fp32)
// CHECK-NEXT: GPU time, from idle: median
// CHECK-NEXT: GPU time, one of ten back to back: median
// CHECK-NEXT: host time, one of ten back to back: median

func.func @forward(%x: tensor<?x512xf32>, %w: tensor<256x512xf32> {tenon.param}, %b: tensor<256xf32> {tenon.param}) -> tensor<?x256xf32> {
  %0 = tenon.linear %x, %w, %b : (tensor<?x512xf32>, tensor<256x512xf32>, tensor<256xf32>) -> tensor<?x256xf32>
  %1 = tenon.mul %0, 2.0 : tensor<?x256xf32>
  %2 = tenon.leaky_relu %1 {negative_slope = 0.1} : tensor<?x256xf32>
  return %2 : tensor<?x256xf32>
}
