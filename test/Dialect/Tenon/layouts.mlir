// Products whose operands are given transposed, and what is made of them.
// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --tenon-fuse-epilogue | FileCheck %s --check-prefix=FUSE
// RUN: tenon-opt %s --tenon-fuse-epilogue --tenon-unfuse | FileCheck %s --check-prefix=UNFUSE
// RUN: tenon-opt %s --tenon-reference=bounds | FileCheck %s --check-prefix=REFERENCE
// RUN: tenon-opt %s --tenon-to-linalg | FileCheck %s --check-prefix=CPU --implicit-check-not=tenon.
// RUN: tenon-opt %s --tenon-to-blaslt | FileCheck %s --check-prefix=LIBRARY

// The gradient of a layer's input.
// CHECK-LABEL: @of_x
// CHECK: tenon.linear %{{.*}}, %{{.*}} precision<tf32> layout<mk_kn> : (tensor<?x4xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
// REFERENCE-LABEL: @of_x_reference
// REFERENCE: tenon.linear %{{.*}}, %{{.*}} layout<mk_kn> : (tensor<?x4xf64>, tensor<4x8xf64>) -> tensor<?x8xf64>
// REFERENCE-LABEL: @of_x_bounds
// REFERENCE-COUNT-2: tenon.linear %{{.*}} layout<mk_kn>
// CPU-LABEL: @of_x
// CPU-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[W:.*]]: tensor<4x8xf32>
// CPU: %[[TURNED:.*]] = linalg.transpose ins(%[[W]] : tensor<4x8xf32>) outs({{.*}} : tensor<8x4xf32>) permutation = [1, 0]
// CPU: linalg.matmul {{.*}} ins(%[[X]], %[[TURNED]] :
// LIBRARY-LABEL: @of_x
// LIBRARY: blaslt.plan n = 8, k = 4, compute = tf32 w_transposed : f32 -> f32
// LIBRARY: blaslt.run {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<4x8xf32>)
func.func @of_x(%dy: tensor<?x4xf32>, %w: tensor<4x8xf32>) -> tensor<?x8xf32> {
  %0 = tenon.linear %dy, %w precision<tf32> layout<mk_kn> : (tensor<?x4xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// The gradient of a weight, added to one that is there.
// CHECK-LABEL: @of_w
// CHECK: tenon.linear %{{.*}}, %{{.*}} layout<km_kn> : (tensor<16x4xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
// FUSE-LABEL: @of_w
// FUSE: tenon.fused_linear %{{.*}}, %{{.*}} layout<km_kn> : tensor<16x4xf32>, tensor<16x8xf32>
// FUSE-SAME: epilogue(%{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<4x8xf32>) -> tensor<4x8xf32>
// UNFUSE-LABEL: @of_w
// UNFUSE: tenon.linear %{{.*}}, %{{.*}} layout<km_kn> : (tensor<16x4xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
// CPU-LABEL: @of_w
// CPU-COUNT-2: linalg.transpose
// CPU: linalg.matmul
// LIBRARY-LABEL: @of_w
// LIBRARY: blaslt.plan n = 8, k = 16, compute = f32 x_transposed w_transposed : f32 -> f32
func.func @of_w(%dy: tensor<16x4xf32>, %x: tensor<16x8xf32>, %before: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %dy, %x layout<km_kn> : (tensor<16x4xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %1 = tenon.add %0, %before : tensor<4x8xf32>, tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// With a bias of N, and in 16 bits.
// CHECK-LABEL: @x_alone
// CHECK: tenon.linear %{{.*}}, %{{.*}}, %{{.*}} layout<km_nk> : (tensor<16x4xbf16>, tensor<8x16xbf16>, tensor<8xf32>) -> tensor<4x8xf32>
// LIBRARY-LABEL: @x_alone
// LIBRARY: blaslt.plan n = 8, k = 16, compute = f32 bias x_transposed : bf16 -> f32
func.func @x_alone(%x: tensor<16x4xbf16>, %w: tensor<8x16xbf16>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = tenon.linear %x, %w, %b layout<km_nk> : (tensor<16x4xbf16>, tensor<8x16xbf16>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Written or not, this is what every layer has.
// CHECK-LABEL: @neither
// CHECK: tenon.fused_linear %{{.*}}, %{{.*}} layout<mk_nk> : tensor<?x4xf32>, tensor<8x4xf32>
func.func @neither(%x: tensor<?x4xf32>, %w: tensor<8x4xf32>) -> tensor<?x8xf32> {
  %0 = tenon.fused_linear %x, %w layout<mk_nk> : tensor<?x4xf32>, tensor<8x4xf32> epilogue(%acc: tensor<?x8xf32>) -> tensor<?x8xf32> {
    %1 = tenon.relu %acc : tensor<?x8xf32>
    tenon.yield %1 : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}
