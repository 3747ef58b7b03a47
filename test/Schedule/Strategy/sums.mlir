// Layers of which each has the result of the one before it added to its product have one kernel where they can.
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy=targets=sm_90a --split-input-file | FileCheck %s
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy=targets=sm_90a --split-input-file \
// RUN:   --remarks-filter=tenon-select-strategy -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// Run again, the pass changes nothing.
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy=targets=sm_90a --split-input-file -o %t.once
// RUN: tenon-opt %t.once --tenon-select-strategy=targets=sm_90a --split-input-file | diff %t.once -
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_90a pairs=never" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=NEVER --implicit-check-not="terms ="
// Kernels of mma_sync have one product of an x.
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-select-strategy="targets=sm_80 pairs=always" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=NEVER --implicit-check-not="terms ="

// NEVER-LABEL: @lora
// CHECK-LABEL: @lora
// CHECK: tenon.linear
// CHECK-SAME: schedule = #tenon.schedule<wgmma, [[SCHEDULE:.*terms = 2]]>, strategy = #tenon.strategy<tiled>
// CHECK: tenon.fused_linear
// CHECK: attributes {schedule = #tenon.schedule<wgmma, [[SCHEDULE]]>, strategy = #tenon.strategy<tiled>}
// WHY: Function=lora | Reason="{{.*}}of 2 products added up{{.*}}", Remark="tiled: one kernel for it and for the layer whose epilogue reads it is predicted to take
func.func @lora(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %t: tensor<4096x16xbf16>, %b: tensor<4096x16xbf16>) -> tensor<4096x4096xbf16> {
  %0 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tenon.linear %t, %b : (tensor<4096x16xbf16>, tensor<4096x16xbf16>) -> tensor<4096x4096xbf16>
  %2 = tenon.add %0, %1 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  return %2 : tensor<4096x4096xbf16>
}

// -----

// The gradient of an x that three layers read.
// CHECK-LABEL: @projections
// CHECK-COUNT-3: terms = 3
func.func @projections(%q: tensor<?x4096xbf16>, %k: tensor<?x1024xbf16>, %v: tensor<?x1024xbf16>, %wq: tensor<4096x4096xbf16>,
                       %wk: tensor<1024x4096xbf16>, %wv: tensor<1024x4096xbf16>) -> tensor<?x4096xbf16> {
  %0 = tenon.linear %q, %wq layout<mk_kn> : (tensor<?x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<?x4096xbf16>
  %1 = tenon.linear %k, %wk layout<mk_kn> : (tensor<?x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<?x4096xbf16>
  %2 = tenon.add %0, %1 : tensor<?x4096xbf16>, tensor<?x4096xbf16>
  %3 = tenon.linear %v, %wv layout<mk_kn> : (tensor<?x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<?x4096xbf16>
  %4 = tenon.add %2, %3 : tensor<?x4096xbf16>, tensor<?x4096xbf16>
  return %4 : tensor<?x4096xbf16>
}

// -----

// Five layers: a kernel has four terms at most.
// CHECK-LABEL: @five
// CHECK-NOT: terms
// CHECK-COUNT-4: terms = 4
// CHECK-NOT: terms
func.func @five(%x: tensor<4096x512xf16>, %w: tensor<512x512xf16>) -> tensor<4096x512xf16> {
  %0 = tenon.linear %x, %w : (tensor<4096x512xf16>, tensor<512x512xf16>) -> tensor<4096x512xf16>
  %x1 = tenon.relu %x : tensor<4096x512xf16>
  %1 = tenon.linear %x1, %w : (tensor<4096x512xf16>, tensor<512x512xf16>) -> tensor<4096x512xf16>
  %s1 = tenon.add %0, %1 : tensor<4096x512xf16>, tensor<4096x512xf16>
  %x2 = tenon.silu %x : tensor<4096x512xf16>
  %2 = tenon.linear %x2, %w : (tensor<4096x512xf16>, tensor<512x512xf16>) -> tensor<4096x512xf16>
  %s2 = tenon.add %s1, %2 : tensor<4096x512xf16>, tensor<4096x512xf16>
  %x3 = tenon.tanh %x : tensor<4096x512xf16>
  %3 = tenon.linear %x3, %w : (tensor<4096x512xf16>, tensor<512x512xf16>) -> tensor<4096x512xf16>
  %s3 = tenon.add %s2, %3 : tensor<4096x512xf16>, tensor<4096x512xf16>
  %x4 = tenon.sigmoid %x : tensor<4096x512xf16>
  %4 = tenon.linear %x4, %w : (tensor<4096x512xf16>, tensor<512x512xf16>) -> tensor<4096x512xf16>
  %s4 = tenon.add %s3, %4 : tensor<4096x512xf16>, tensor<4096x512xf16>
  return %s4 : tensor<4096x512xf16>
}

// -----

// CHECK-LABEL: @no_sum_read_elsewhere
// CHECK-NOT: terms =
// WHY: [Missed] Pair | {{.*}}Reason="something else reads what it gives, which is added to a product", Remark="not in the kernel of the layer whose epilogue reads it"
func.func @no_sum_read_elsewhere(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %t: tensor<4096x16xbf16>, %b: tensor<4096x16xbf16>)
    -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
  %0 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tenon.linear %t, %b : (tensor<4096x16xbf16>, tensor<4096x16xbf16>) -> tensor<4096x4096xbf16>
  %2 = tenon.add %0, %1 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  return %2, %0 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
}

// -----

// The other product alone is a result too.
// CHECK-LABEL: @no_sum_of_kept
// CHECK-NOT: terms =
// WHY: it is not added to a product alone: tenon.yield comes first
func.func @no_sum_of_kept(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %t: tensor<4096x16xbf16>, %b: tensor<4096x16xbf16>)
    -> (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) {
  %0 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tenon.linear %t, %b : (tensor<4096x16xbf16>, tensor<4096x16xbf16>) -> tensor<4096x4096xbf16>
  %2 = tenon.add %0, %1 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  return %2, %1 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
}

// -----

// CHECK-LABEL: @no_sum_behind_an_activation
// CHECK-NOT: terms =
// WHY: it is not added to a product alone: tenon.relu comes first
func.func @no_sum_behind_an_activation(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %t: tensor<4096x16xbf16>, %b: tensor<4096x16xbf16>)
    -> tensor<4096x4096xbf16> {
  %0 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tenon.linear %t, %b : (tensor<4096x16xbf16>, tensor<4096x16xbf16>) -> tensor<4096x4096xbf16>
  %2 = tenon.relu %1 : tensor<4096x4096xbf16>
  %3 = tenon.add %0, %2 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  return %3 : tensor<4096x4096xbf16>
}

// -----

// What is added was scaled.
// CHECK-LABEL: @no_sum_of_scaled
// CHECK-NOT: terms =
// WHY: it is not added to a product alone: tenon.mul comes first
func.func @no_sum_of_scaled(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %t: tensor<4096x16xbf16>, %b: tensor<4096x16xbf16>, %s: tensor<4096xbf16>)
    -> tensor<4096x4096xbf16> {
  %0 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tenon.mul %0, %s : tensor<4096x4096xbf16>, tensor<4096xbf16>
  %2 = tenon.linear %t, %b : (tensor<4096x16xbf16>, tensor<4096x16xbf16>) -> tensor<4096x4096xbf16>
  %3 = tenon.add %1, %2 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  return %3 : tensor<4096x4096xbf16>
}

// -----

// CHECK-LABEL: @no_sum_of_other_layout
// CHECK-NOT: terms =
// WHY: x and w of both layers do not lie alike in memory
func.func @no_sum_of_other_layout(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %t: tensor<4096x16xbf16>, %b: tensor<16x4096xbf16>) -> tensor<4096x4096xbf16> {
  %0 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tenon.linear %t, %b layout<mk_kn> : (tensor<4096x16xbf16>, tensor<16x4096xbf16>) -> tensor<4096x4096xbf16>
  %2 = tenon.add %0, %1 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  return %2 : tensor<4096x4096xbf16>
}

// -----

// CHECK-LABEL: @no_sum_misaligned
// CHECK-NOT: terms =
// WHY: no kernel adds up the products, since TMA copies rows of multiples of 16 bytes, but K = 20
func.func @no_sum_misaligned(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %t: tensor<4096x20xbf16>, %b: tensor<4096x20xbf16>) -> tensor<4096x4096xbf16> {
  %0 = tenon.linear %x, %w : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = tenon.linear %t, %b : (tensor<4096x20xbf16>, tensor<4096x20xbf16>) -> tensor<4096x4096xbf16>
  %2 = tenon.add %0, %1 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>
  return %2 : tensor<4096x4096xbf16>
}

// -----

// Products of f32 have precision fp32, whose kernels split what they multiply.
// WHY: no kernel of two products runs on all of the targets
// CHECK-LABEL: @no_sum_of_split
// CHECK-NOT: terms =
func.func @no_sum_of_split(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>, %t: tensor<4096x16xf32>, %b: tensor<4096x16xf32>) -> tensor<4096x4096xf32> {
  %0 = tenon.linear %x, %w : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %1 = tenon.linear %t, %b : (tensor<4096x16xf32>, tensor<4096x16xf32>) -> tensor<4096x4096xf32>
  %2 = tenon.add %0, %1 : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  return %2 : tensor<4096x4096xf32>
}
