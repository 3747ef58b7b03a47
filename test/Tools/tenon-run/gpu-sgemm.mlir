// float32 products of precision fp32 are compared with SGEMM's too, on a GPU
// whose products are computed and whose kernels do nothing.
// REQUIRES: ptxas
// DEFINE: %{fakes} = %tenon_src/unittests/Runtime
// RUN: %clangxx -I%{fakes} -shared -fPIC %{fakes}/FakeBlasLt.cpp %{fakes}/FakeDriver.cpp %{fakes}/FakeLaunch.cpp \
// RUN:   %S/Inputs/FakeOrders.cpp -o %t.fakes.so
// RUN: split-file %s %t
// DEFINE: %{model} = %t/fp32.mlir
// DEFINE: %{run} = env TENON_LIBCUDA=%t.fakes.so TENON_LIBCUBLASLT=%t.fakes.so tenon-run %{model} --dim m=9 --check
// DEFINE: %{check} = %{run} --target=cuda

// One table, as wide as its contents; of both models the library's product.
// RUN: %{check} | FileCheck %s --match-full-lines --strict-whitespace
//      CHECK:forward on GPU 0 (Fake GPU)
// CHECK-NEXT:y0: float32 [9, 32], max abs error [[MAX:[^ ,]+]], rms error [[RMS:[^ ,]+]], {{.*}}: ok
// CHECK-NEXT:second: float32 [9, 32], max abs error [[MAX1:[^ ,]+]], rms error [[RMS1:[^ ,]+]], {{.*}}: ok
// CHECK-NEXT:error against float64  Tenon            SGEMM
// CHECK-NEXT:y0, max                [[MAX]] (fp32)  [[MAX]] (fp32)
// CHECK-NEXT:y0, rms                [[RMS]] (fp32)  [[RMS]] (fp32)
// CHECK-NEXT:second, max            [[MAX1]] (fp32)  [[MAX1]] (fp32)
// CHECK-NEXT:second, rms            [[RMS1]] (fp32)  [[RMS1]] (fp32)
//  CHECK-NOT:{{.}}

// Tenon's kernel wrote nothing. What it would have counted is told.
// RUN: not env FAKE_ROWS_OUTSIDE=17 %{check} --strategy=tiled 2>&1 | FileCheck %s --check-prefix=TILED
//      TILED: y0: float32 [9, 32], {{.*}}, 288 NaN: FAILED
//      TILED: error against float64 Tenon SGEMM
// TILED-NEXT: y0, max nan (fp32) {{[0-9.]+}}e-{{0[78]}} (fp32)
// TILED-NEXT: y0, rms nan (fp32) {{[0-9.]+}}e-{{0[89]}} (fp32)
//      TILED: slower path: taken for 17 rows of inputs and weights
//      TILED: error: 2 of 2 outputs differ

// Without cuBLASLt the check stands alone and says so.
// RUN: not env TENON_LIBCUDA=%t.fakes.so TENON_LIBCUBLASLT=%t.absent.so tenon-run %{model} --dim m=9 --target=cuda \
// RUN:   --check --strategy=tiled 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: no SGEMM to compare with: no cuBLASLt: {{.*}}.absent.so

// RUN: not %{check} --strategy=sgemm 2>&1 | FileCheck %s --check-prefix=UNKNOWN --implicit-check-not=tenon-run:
// UNKNOWN: tenon-compile: error: --strategy=sgemm is not known; expected auto, library or tiled

// Nothing of that on the CPU, of a compiled model, nor where SGEMM would be another product.
// RUN: %{run} | FileCheck %s --check-prefix=ALONE
// RUN: tenon-compile %{model} --target=sm_90a --reference -o %t.so
// REDEFINE: %{model} = %t.so
// RUN: %{check} | FileCheck %s --check-prefix=ALONE
// REDEFINE: %{model} = %t/others.mlir --function=tf32
// RUN: %{check} | FileCheck %s --check-prefix=ALONE
// REDEFINE: %{model} = %t/others.mlir --function=f64
// RUN: %{check} | FileCheck %s --check-prefix=ALONE
// REDEFINE: %{model} = %t/others.mlir --function=no_product
// RUN: %{check} --tolerance=0 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: : ok
// ALONE-NOT: SGEMM
// ALONE-NOT: slower path

// Nor where the text has its own way.
// REDEFINE: %{model} = %t/chosen.mlir
// RUN: not %{check} 2>&1 | FileCheck %s --check-prefix=CHOSEN
//      CHOSEN: y0: float32 [9, 32], {{.*}}: FAILED
// CHOSEN-NEXT: no SGEMM to compare with: the text chooses the strategy of a layer

//--- fp32.mlir
func.func @forward(%x: tensor<?x64xf32>, %w: tensor<32x64xf32> {tenon.param}, %b: tensor<32xf32> {tenon.param})
    -> (tensor<?x32xf32>, tensor<?x32xf32> {tenon.name = "second"}) {
  %0 = tenon.linear %x, %w, %b : (tensor<?x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<?x32xf32>
  %1 = tenon.relu %0 : tensor<?x32xf32>
  %2 = tenon.linear %x, %w precision<fp32> : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %1, %2 : tensor<?x32xf32>, tensor<?x32xf32>
}

//--- others.mlir
func.func @tf32(%x: tensor<?x64xf32>, %w: tensor<32x64xf32> {tenon.param}) -> tensor<?x32xf32> {
  %0 = tenon.linear %x, %w precision<tf32> : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

func.func @f64(%x: tensor<?x64xf64>, %w: tensor<32x64xf64> {tenon.param}) -> tensor<?x32xf64> {
  %0 = tenon.linear %x, %w : (tensor<?x64xf64>, tensor<32x64xf64>) -> tensor<?x32xf64>
  return %0 : tensor<?x32xf64>
}

func.func @no_product(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}

//--- chosen.mlir
func.func @chosen(%x: tensor<?x64xf32>, %w: tensor<32x64xf32> {tenon.param}) -> tensor<?x32xf32> {
  %0 = tenon.linear %x, %w {strategy = #tenon.strategy<tiled>}
      : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
