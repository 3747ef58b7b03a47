// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --tenon-to-linalg | FileCheck %s --check-prefix=EMIT

// CHECK-LABEL: @round_trip
// EMIT-LABEL: @round_trip
// EMIT: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// EMIT: math.log {{.*}} : f32
func.func @round_trip(%x: tensor<?x8xf16>) -> tensor<?x8xf16> {
  // CHECK: tenon.log %{{.*}} : tensor<?x8xf16>
  %0 = tenon.log %x : tensor<?x8xf16>
  return %0 : tensor<?x8xf16>
}
