// RUN: tenon-opt %s | FileCheck %s
// RUN: tenon-opt %s --tenon-to-linalg | FileCheck %s --check-prefix=EMIT

// CHECK-LABEL: @round_trip
// EMIT-LABEL: @round_trip
// EMIT: %[[ROOT:.*]] = math.sqrt %{{.*}} : f32
// EMIT: arith.divf %{{.*}}, %[[ROOT]] : f32
func.func @round_trip(%x: tensor<?x1xf32>) -> tensor<?x1xf32> {
  // CHECK: tenon.rsqrt %{{.*}} : tensor<?x1xf32>
  %0 = tenon.rsqrt %x : tensor<?x1xf32>
  return %0 : tensor<?x1xf32>
}
