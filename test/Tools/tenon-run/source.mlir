// A model as text is compiled by the tenon-compile beside tenon-run, and leaves
// nothing behind.
// RUN: rm -rf %t && mkdir %t
// RUN: env TMPDIR=%t tenon-run %s --dim m=5 --check --function=scaled | FileCheck %s
// CHECK:      scaled on the CPU
// CHECK-NEXT: y0: float32 [5, 32], {{.*}} (tolerance 1e-05): ok
// RUN: env TMPDIR=%t tenon-run %s --dim m=5 --check --function=halves | FileCheck %s --check-prefix=HALVES
// HALVES: y0: float16 [5, 32], {{.*}} (tolerance 0.002): ok
// RUN: env TMPDIR=%t tenon-run %s --dim m=5 --check --function=autocast | FileCheck %s --check-prefix=AUTOCAST
// AUTOCAST: y0: float32 [5, 32], {{.*}} (tolerance 0.02): ok
// RUN: env TMPDIR=%t tenon-run %s --manifest | FileCheck %s --check-prefix=MANIFEST
// MANIFEST: entry scaled(x, w)
// MANIFEST-NOT: reference
// RUN: ls %t | count 0

// The compiler's message stands alone, and its status is passed on.
// RUN: echo "func.func @f(" > %t.bad.mlir
// RUN: env TMPDIR=%t not tenon-run %t.bad.mlir 2>&1 | FileCheck %s --check-prefix=BAD --implicit-check-not=tenon-run:
// BAD: bad.mlir:1:{{.*}}: error:
// RUN: ls %t | count 0

// RUN: env TMPDIR=%t.absent not tenon-run %s 2>&1 | FileCheck %s --check-prefix=TMPDIR
// TMPDIR: tenon-run: error: {{.*}}; set TMPDIR to a folder that can be written

// RUN: mkdir %t/bin && cp %tenon_obj/bin/tenon-run %t/bin
// RUN: env LD_LIBRARY_PATH=%tenon_lib not %t/bin/tenon-run %s 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: tenon-run: error: cannot start '{{.*}}bin/tenon-compile': No such file or directory; install Tenon's compiler there, or compile the model elsewhere and give the .so

// Choices of the GPU code are handed to the compiler, which says what is wrong with one.
// RUN: cp %S/Inputs/print-arguments.sh %t/bin/tenon-compile && chmod +x %t/bin/tenon-compile
// RUN: env LD_LIBRARY_PATH=%tenon_lib not %t/bin/tenon-run %s --strategy tiled --reduction=resident \
// RUN:   --schedule 'mma_sync, tile = 128x128x64' --check | FileCheck %s --check-prefix=CHOICES
// CHOICES:      [{{.*}}source.mlir]
// CHOICES-NEXT: [-o]
// CHOICES-NEXT: [{{.*}}libmodel.so]
// CHOICES-NEXT: [--strategy=tiled]
// CHOICES-NEXT: [--reduction=resident]
// CHOICES-NEXT: [--schedule=mma_sync, tile = 128x128x64]
// CHOICES-NEXT: [--reference]
// RUN: not tenon-run %s --reduction=all 2>&1 | FileCheck %s --check-prefix=REDUCTION --implicit-check-not=tenon-run:
// REDUCTION: error: --reduction=all is not known; expected auto, separate, two_phase, resident, input_moments, in_tile, reduce_only or resident_rows
// RUN: not tenon-run %s --schedule=small 2>&1 | FileCheck %s --check-prefix=SCHEDULE --implicit-check-not=tenon-run:
// SCHEDULE: error: --schedule=small is not a schedule

func.func @scaled(%x: tensor<?x64xf32>, %w: tensor<32x64xf32> {tenon.param}) -> tensor<?x32xf32> {
  %0 = tenon.linear %x, %w : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  %1 = tenon.mul %0, 2.0 : tensor<?x32xf32>
  return %1 : tensor<?x32xf32>
}

func.func @halves(%x: tensor<?x64xf16>, %w: tensor<32x64xf16> {tenon.param}) -> tensor<?x32xf16> {
  %0 = tenon.linear %x, %w : (tensor<?x64xf16>, tensor<32x64xf16>) -> tensor<?x32xf16>
  %1 = tenon.relu %0 : tensor<?x32xf16>
  return %1 : tensor<?x32xf16>
}

// What is cast to 16 bits on the way is no more precise than that.
func.func @autocast(%x: tensor<?x64xf32>, %w: tensor<32x64xf32> {tenon.param}) -> tensor<?x32xf32> {
  %0 = tenon.cast %x : tensor<?x64xf32> -> tensor<?x64xbf16>
  %1 = tenon.cast %w : tensor<32x64xf32> -> tensor<32x64xbf16>
  %2 = tenon.linear %0, %1 : (tensor<?x64xbf16>, tensor<32x64xbf16>) -> tensor<?x32xbf16>
  %3 = tenon.cast %2 : tensor<?x32xbf16> -> tensor<?x32xf32>
  return %3 : tensor<?x32xf32>
}
