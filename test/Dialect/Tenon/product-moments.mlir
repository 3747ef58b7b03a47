// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --canonicalize --cse | FileCheck %s --check-prefix=CSE
// RUN: tenon-opt %s --tenon-bufferize --canonicalize | FileCheck %s --check-prefix=BUFFER

// CHECK-LABEL: @layer
// CHECK: tenon.product_moments %{{.*}}, %{{.*}} : (tensor<?x20xbf16>, tensor<37x20xbf16>) -> (tensor<37xf32>, tensor<37xf32>, tensor<37xf32>)
// BUFFER-LABEL: @layer
// BUFFER-SAME: %[[X:.*]]: memref<?x20xbf16>, %[[W:.*]]: memref<37x20xbf16>
// BUFFER-COUNT-3: memref.alloc() {{.*}} : memref<37xf32>
// BUFFER: tenon.product_moments %[[X]], %[[W]] outs(%[[A:.*]], %[[B:.*]], %[[C:.*]]) : (memref<?x20xbf16>, memref<37x20xbf16>, memref<37xf32>, memref<37xf32>, memref<37xf32>) -> ()
// BUFFER-NEXT: return %[[A]], %[[B]], %[[C]]
func.func @layer(%x: tensor<?x20xbf16>, %w: tensor<37x20xbf16>) -> (tensor<37xf32>, tensor<37xf32>, tensor<37xf32>) {
  %0:3 = tenon.product_moments %x, %w : (tensor<?x20xbf16>, tensor<37x20xbf16>) -> (tensor<37xf32>, tensor<37xf32>, tensor<37xf32>)
  return %0#0, %0#1, %0#2 : tensor<37xf32>, tensor<37xf32>, tensor<37xf32>
}

// CHECK-LABEL: @on_memrefs
// CSE-LABEL: @on_memrefs
func.func @on_memrefs(%x: memref<5x256xf32>, %w: memref<4x256xf32>, %a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>) {
  // CHECK: tenon.product_moments %{{.*}}, %{{.*}} outs(%{{.*}}, %{{.*}}, %{{.*}}) : (memref<5x256xf32>, memref<4x256xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
  // CSE: tenon.product_moments
  tenon.product_moments %x, %w outs(%a, %b, %c) : (memref<5x256xf32>, memref<4x256xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
  return
}

// On tensors it has no effects: one of two is enough, and none of what nothing uses.
// CSE-LABEL: @twice
// CSE: %[[M:.*]]:3 = tenon.product_moments
// CSE-NOT: tenon.product_moments
// CSE: return %[[M]]#0, %[[M]]#1
func.func @twice(%x: tensor<4x8xf16>, %z: tensor<5x8xf16>, %w: tensor<2x8xf16>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0:3 = tenon.product_moments %x, %w : (tensor<4x8xf16>, tensor<2x8xf16>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  %1:3 = tenon.product_moments %x, %w : (tensor<4x8xf16>, tensor<2x8xf16>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  %2:3 = tenon.product_moments %z, %w : (tensor<5x8xf16>, tensor<2x8xf16>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %0#0, %1#1 : tensor<2xf32>, tensor<2xf32>
}
