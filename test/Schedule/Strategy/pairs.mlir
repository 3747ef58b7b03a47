// Two layers of one x of which one's epilogue reads the other's result have one kernel where they can.
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy=targets=sm_90a --split-input-file | FileCheck %s
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy=targets=sm_90a --split-input-file \
// RUN:   --remarks-filter=tenon-select-strategy -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// Run again, the pass changes nothing.
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy=targets=sm_90a --split-input-file -o %t.once
// RUN: tenon-opt %t.once --tenon-select-strategy=targets=sm_90a --split-input-file | diff %t.once -
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_90a pairs=never" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=NEVER --implicit-check-not="weights ="
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_90a strategy=library" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=NEVER --implicit-check-not="weights ="
// Kernels of mma_sync have two products too.
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_80 pairs=always" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=SM80

// NEVER-LABEL: @pair_silu
// SM80-LABEL: @pair_silu
// SM80-COUNT-2: schedule<mma_sync, tile = 128x128x64, {{.*}}weights = 2>
// CHECK-LABEL: @pair_silu
// CHECK: tenon.fused_linear
// CHECK: attributes {schedule = #tenon.schedule<wgmma, [[SCHEDULE:.*weights = 2]]>, strategy = #tenon.strategy<tiled>}
// CHECK: tenon.fused_linear
// CHECK: attributes {schedule = #tenon.schedule<wgmma, [[SCHEDULE]]>, strategy = #tenon.strategy<tiled>}
// WHY: Function=pair_silu | Reason="{{.*}}of 2 products{{.*}}", Remark="tiled: one kernel for it and for the layer whose epilogue reads it is predicted to take {{[0-9.]+}} us, and {{[0-9.]+}} us two"
func.func @pair_silu(%x: tensor<8192x4096xbf16>, %w: tensor<11008x4096xbf16>, %v: tensor<11008x4096xbf16>) -> tensor<8192x11008xbf16> {
  %0 = tenon.linear %x, %v : (tensor<8192x4096xbf16>, tensor<11008x4096xbf16>) -> tensor<8192x11008xbf16>
  %1 = tenon.silu %0 : tensor<8192x11008xbf16>
  %2 = tenon.linear %x, %w : (tensor<8192x4096xbf16>, tensor<11008x4096xbf16>) -> tensor<8192x11008xbf16>
  %3 = tenon.mul %1, %2 : tensor<8192x11008xbf16>, tensor<8192x11008xbf16>
  return %3 : tensor<8192x11008xbf16>
}

// -----

// Biases, an addition, a residual, a dynamic M.
// CHECK-LABEL: @pair_of_biases
// CHECK-COUNT-2: weights = 2
func.func @pair_of_biases(%x: tensor<?x4096xf16>, %w: tensor<4096x4096xf16>, %v: tensor<4096x4096xf16>, %b: tensor<4096xf16>,
                          %c: tensor<4096xf16>, %r: tensor<?x4096xf16>) -> tensor<?x4096xf16> {
  %0 = tenon.linear %x, %v, %b : (tensor<?x4096xf16>, tensor<4096x4096xf16>, tensor<4096xf16>) -> tensor<?x4096xf16>
  %1 = tenon.linear %x, %w, %c : (tensor<?x4096xf16>, tensor<4096x4096xf16>, tensor<4096xf16>) -> tensor<?x4096xf16>
  %2 = tenon.add %0, %1 : tensor<?x4096xf16>, tensor<?x4096xf16>
  %3 = tenon.gelu %2 : tensor<?x4096xf16>
  %4 = tenon.add %3, %r : tensor<?x4096xf16>, tensor<?x4096xf16>
  return %4 : tensor<?x4096xf16>
}

// -----

// f32 that is split: both layers read one split of x.
// SM80-LABEL: @pair_fp32
// SM80-COUNT-2: schedule<mma_sync, {{.*}}weights = 2, method = fp16x3>
// CHECK-LABEL: @pair_fp32
// CHECK-COUNT-2: tenon.split
// CHECK: weights = 2, method = fp16x3
// CHECK: tenon.split
// CHECK-NOT: tenon.split
// CHECK: weights = 2, method = fp16x3
func.func @pair_fp32(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>, %v: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %0 = tenon.linear %x, %v : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %1 = tenon.silu %0 : tensor<4096x4096xf32>
  %2 = tenon.linear %x, %w : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %3 = tenon.mul %1, %2 : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  return %3 : tensor<4096x4096xf32>
}

// -----

// What is written on one of the layers stays.
// CHECK-LABEL: @no_pair_written
// CHECK: strategy = #tenon.strategy<library>
// CHECK-NOT: weights =
func.func @no_pair_written(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %v: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = tenon.linear %x, %v {strategy = #tenon.strategy<library>} : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tenon.silu %0 : tensor<4096x4096xbf16>
  %2 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %3 = tenon.mul %1, %2 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  return %3 : tensor<4096x4096xbf16>
}

// -----

// CHECK-LABEL: @no_pair_other_x
// CHECK-NOT: weights =
func.func @no_pair_other_x(%x: tensor<4096x4096xbf16>, %z: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = tenon.linear %z, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tenon.silu %0 : tensor<4096x4096xbf16>
  %2 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %3 = tenon.mul %1, %2 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  return %3 : tensor<4096x4096xbf16>
}

// -----

// A gate of one column, which all columns are multiplied by.
// CHECK-LABEL: @no_pair_other_shape
// CHECK-NOT: weights =
// WHY: Reason="the weights, or what is multiplied by them, are of other shapes or element types", Remark="not in the kernel of the layer whose epilogue reads it"
func.func @no_pair_other_shape(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %v: tensor<1x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = tenon.linear %x, %v : (tensor<4096x4096xbf16>, tensor<1x4096xbf16>) -> tensor<4096x1xbf16>
  %1 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %2 = tenon.mul %1, %0 : tensor<4096x4096xbf16>, tensor<4096x1xbf16>
  return %2 : tensor<4096x4096xbf16>
}

// -----

// CHECK-LABEL: @no_pair_other_type
// CHECK-NOT: weights =
func.func @no_pair_other_type(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %v: tensor<4096x4096xbf16>) -> tensor<4096x4096xf32> {
  %0 = tenon.linear %x, %v : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xf32>
  %1 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %2 = tenon.mul %0, %1 : tensor<4096x4096xf32>, tensor<4096x4096xbf16>
  return %2 : tensor<4096x4096xf32>
}

// -----

// What else is read of the gate is stored too, as in a training step: here its product and what is made of it.
// CHECK-LABEL: @pair_that_gives_its_parts
// CHECK-COUNT-2: weights = 2
// WHY: Function=pair_that_gives_its_parts | BytesSaved=33554432, Reason="{{.*}}of 2 products{{.*}}", Remark="tiled: one kernel for it and for the layer whose
func.func @pair_that_gives_its_parts(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %v: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
  %0 = tenon.linear %x, %v : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tenon.silu %0 : tensor<4096x4096xbf16>
  %2 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %3 = tenon.mul %1, %2 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  return %0, %1, %2, %3 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
}

// -----

// CHECK-LABEL: @no_pair_read_before
// CHECK-NOT: weights =
// WHY: Reason="what it gives is read before the kernel of both would give it", Remark="not in the kernel of the layer whose epilogue reads it"
func.func @no_pair_read_before(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %v: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
  %0 = tenon.linear %x, %v : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tenon.silu %0 : tensor<4096x4096xbf16>
  %2 = tenon.linear %1, %v : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %3 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %4 = tenon.mul %1, %3 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  return %2, %4 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
}

// -----

// CHECK-LABEL: @no_pair_of_two_layers
// CHECK-NOT: weights =
// WHY: Reason="several layers of its x read what it gives behind their products", Remark="not in the kernel of the layer whose epilogue reads it"
func.func @no_pair_of_two_layers(%x: tensor<4096x4096xbf16>, %u: tensor<4096x4096xbf16>, %v: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>)
    -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
  %0 = tenon.linear %x, %u : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tenon.linear %x, %v : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %2 = tenon.mul %0, %1 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  %3 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %4 = tenon.mul %0, %3 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  return %2, %4 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
}

// -----

// CHECK-LABEL: @no_pair_batch_norm
// CHECK-NOT: weights =
// WHY: Reason="'tenon.batch_norm_training' needs all rows, of which a tile has but some", Remark="not in the kernel of the layer whose epilogue reads it"
func.func @no_pair_batch_norm(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %v: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = tenon.linear %x, %v : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tenon.batch_norm_training %0 : (tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %2 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %3 = tenon.mul %1, %2 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  return %3 : tensor<4096x4096xbf16>
}

// -----

// CHECK-LABEL: @no_pair_transposed
// CHECK-NOT: weights =
// WHY: Reason="a kernel of two products reads x [M, K] and w [N, K]", Remark="not in the kernel of the layer whose epilogue reads it"
func.func @no_pair_transposed(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>, %v: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %0 = tenon.linear %x, %v layout<mk_kn> : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %1 = tenon.silu %0 : tensor<4096x4096xf32>
  %2 = tenon.linear %x, %w : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %3 = tenon.mul %1, %2 : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  return %3 : tensor<4096x4096xf32>
}

// -----

// CHECK-LABEL: @no_pair_other_precision
// CHECK-NOT: weights =
func.func @no_pair_other_precision(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>, %v: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %0 = tenon.linear %x, %v precision<tf32> : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %1 = tenon.silu %0 : tensor<4096x4096xf32>
  %2 = tenon.linear %x, %w : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %3 = tenon.mul %1, %2 : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  return %3 : tensor<4096x4096xf32>
}

// -----

// Of three layers two have one kernel.
// CHECK-LABEL: @pair_and_one
// CHECK-COUNT-2: weights = 2
// CHECK-NOT: weights = 2
func.func @pair_and_one(%x: tensor<4096x4096xbf16>, %u: tensor<4096x4096xbf16>, %v: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>)
    -> tensor<4096x4096xbf16> {
  %0 = tenon.linear %x, %u : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tenon.linear %x, %v : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %2 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %3 = tenon.mul %0, %1 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  %4 = tenon.mul %3, %2 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  return %4 : tensor<4096x4096xbf16>
}
