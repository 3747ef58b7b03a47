// A model as text is compiled for the GPU that is there, here one that launches
// nothing: what a kernel does not write is NaN, and no check lets it pass.
// REQUIRES: ptxas
// DEFINE: %{fakes} = %tenon_src/unittests/Runtime
// RUN: %clangxx -I%{fakes} -shared -fPIC %{fakes}/FakeDriver.cpp %{fakes}/FakeLaunch.cpp %S/Inputs/FakeOrders.cpp -o %t.driver.so
// RUN: env TENON_LIBCUDA=%t.driver.so tenon-run %s --target=cuda --manifest | FileCheck %s --check-prefix=MANIFEST
// MANIFEST: GPU code: sm_90a
// RUN: env TENON_LIBCUDA=%t.driver.so not tenon-run %s --target=cuda --check 2>&1 | FileCheck %s
// CHECK:      forward on GPU 0 (Fake GPU)
// CHECK-NEXT: y0: float32 [3, 64], {{.*}}, 192 NaN: FAILED
// CHECK-NEXT: tenon-run: error: 1 of 1 outputs differ

// The default is the CPU, for which it is always compiled.
// RUN: env TENON_LIBCUDA=%t.driver.so tenon-run %s --check | FileCheck %s --check-prefix=CPU
// CPU:      forward on the CPU
// CPU-NEXT: y0: float32 [3, 64], {{.*}}: ok

func.func @forward(%x: tensor<3x64xf32>) -> tensor<3x64xf32> {
  %0 = tenon.relu %x : tensor<3x64xf32>
  return %0 : tensor<3x64xf32>
}
