// RUN: tenon-opt %s --tenon-hoist-prepare --split-input-file | FileCheck %s
// RUN: tenon-opt %s --tenon-hoist-prepare --split-input-file -o %t.once
// RUN: tenon-opt %s --tenon-hoist-prepare --tenon-hoist-prepare --split-input-file -o %t.twice
// RUN: diff %t.once %t.twice

// The example of the pass's description.
// CHECK-LABEL: func.func @hoist_prepare(
// CHECK-SAME:    %[[S:.*]]: tensor<32xf32> {tenon.param}) -> tensor<32xf32> {
// CHECK-NEXT:    %[[M:.*]] = tenon.mul %[[S]], 2.0
// CHECK-NEXT:    return %[[M]]
// CHECK:       func.func @hoist_run(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x64xf32>, %[[W:[a-z0-9]+]]: tensor<32x64xf32> {tenon.param},
// CHECK-SAME:    %[[P:[a-z0-9]+]]: tensor<32xf32> {tenon.prepared = 0 : i64}) -> tensor<?x32xf32>
// CHECK-SAME:    attributes {tenon.prepare = @hoist_prepare}
// CHECK-NEXT:    %[[L:.*]] = tenon.linear %[[X]], %[[W]]
// CHECK-NEXT:    %[[Y:.*]] = tenon.mul %[[L]], %[[P]]
// CHECK-NEXT:    return %[[Y]]
func.func @hoist(%x: tensor<?x64xf32>, %w: tensor<32x64xf32> {tenon.param},
                 %s: tensor<32xf32> {tenon.param}) -> tensor<?x32xf32> {
  %0 = tenon.mul %s, 2.0 : tensor<32xf32>
  %1 = tenon.linear %x, %w : (tensor<?x64xf32>, tensor<32x64xf32>) -> tensor<?x32xf32>
  %2 = tenon.mul %1, %0 : tensor<?x32xf32>, tensor<32xf32>
  return %2 : tensor<?x32xf32>
}

// -----

// Arguments in groups, each with its attributes; results keep theirs. Of what
// nothing reads a parameter goes to prepare, an activation stays. Two prepared
// values, in the order of the text; what lies between them is no result.
// CHECK-LABEL: func.func @groups_prepare(
// CHECK-SAME:    %[[S:[a-z0-9]+]]: tensor<8xf32> {tenon.name = "scale", tenon.param}, %{{[a-z0-9]+}}: tensor<3xf32> {tenon.param}, %[[W:[a-z0-9]+]]: tensor<8x16xf32> {tenon.name = "weight", tenon.param})
// CHECK-SAME:    -> (tensor<8xf32>, tensor<8x16xf32>)
// CHECK-NEXT:    %[[A:.*]] = tenon.relu %[[S]]
// CHECK-NEXT:    %[[B:.*]] = tenon.sigmoid %[[A]]
// CHECK-NEXT:    %[[C:.*]] = tenon.tanh %[[W]]
// CHECK-NEXT:    return %[[B]], %[[C]]
// CHECK:       func.func @groups_run(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x16xf32> {tenon.name = "x"}, %[[U:[a-z0-9]+]]: tensor<2xf32>, %[[SR:[a-z0-9]+]]: tensor<8xf32> {tenon.name = "scale", tenon.param},
// CHECK-SAME:    %[[PB:[a-z0-9]+]]: tensor<8xf32> {tenon.prepared = 0 : i64}, %[[PC:[a-z0-9]+]]: tensor<8x16xf32> {tenon.prepared = 1 : i64})
// CHECK-SAME:    -> (tensor<4x8xf32> {tenon.name = "y"})
// CHECK-NEXT:    %[[L:.*]] = tenon.linear %[[X]], %[[PC]]
// CHECK-NEXT:    %[[M:.*]] = tenon.mul %[[L]], %[[PB]]
// CHECK-NEXT:    tenon.add %[[M]], %[[SR]]
func.func @groups(%s: tensor<8xf32> {tenon.param, tenon.name = "scale"}, %unread: tensor<3xf32> {tenon.param},
                  %x: tensor<4x16xf32> {tenon.name = "x"}, %w: tensor<8x16xf32> {tenon.param, tenon.name = "weight"},
                  %unread_activation: tensor<2xf32>) -> (tensor<4x8xf32> {tenon.name = "y"}) {
  %0 = tenon.relu %s : tensor<8xf32>
  %1 = tenon.sigmoid %0 : tensor<8xf32>
  %2 = tenon.tanh %w : tensor<8x16xf32>
  %3 = tenon.linear %x, %2 : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %4 = tenon.mul %3, %1 : tensor<4x8xf32>, tensor<8xf32>
  %5 = tenon.add %4, %s : tensor<4x8xf32>, tensor<8xf32>
  return %5 : tensor<4x8xf32>
}

// -----

// Constants and reshapes are repeated where they are read, and a product of
// two parameters is a parameter.
// CHECK-LABEL: func.func @sources_prepare(
// CHECK-NEXT:    %[[E:.*]] = tensor.expand_shape
// CHECK-NEXT:    %[[W:.*]] = tenon.mul %{{.*}}, %[[E]]
// CHECK-NEXT:    %[[C:.*]] = arith.constant dense<2.0
// CHECK-NEXT:    %[[B:.*]] = tenon.mul %{{.*}}, %[[C]]
// CHECK-NEXT:    %[[P:.*]] = tenon.linear %[[W]]
// CHECK-NEXT:    return %[[B]], %[[P]]
// CHECK:       func.func @sources_run(
// CHECK-NEXT:    %[[C:.*]] = arith.constant dense<2.0
// CHECK-NEXT:    tenon.linear
// CHECK-NEXT:    tenon.add
// CHECK-NEXT:    tenon.add %{{.*}}, %[[C]]
// CHECK-NEXT:    return
func.func @sources(%x: tensor<4x8xf32>, %w: tensor<8x8xf32> {tenon.param}, %s: tensor<8xf32> {tenon.param}) -> tensor<4x8xf32> {
  %c = arith.constant dense<2.0> : tensor<8xf32>
  %0 = tensor.expand_shape %s [[0, 1]] output_shape [8, 1] : tensor<8xf32> into tensor<8x1xf32>
  %1 = tenon.mul %w, %0 : tensor<8x8xf32>, tensor<8x1xf32>
  %2 = tenon.mul %s, %c : tensor<8xf32>, tensor<8xf32>
  %3 = tenon.linear %1, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = tenon.linear %x, %3 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %5 = tenon.add %4, %2 : tensor<4x8xf32>, tensor<8xf32>
  %6 = tenon.add %5, %c : tensor<4x8xf32>, tensor<8xf32>
  return %6 : tensor<4x8xf32>
}

// -----

// What a fused op or control flow reads is hoisted too.
// CHECK-LABEL: func.func @nested_prepare(
// CHECK-NEXT:    %[[A:.*]] = tenon.relu
// CHECK-NEXT:    %[[B:.*]] = tenon.tanh
// CHECK-NEXT:    return %[[A]], %[[B]]
// CHECK:       func.func @nested_run(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<8xf32> {tenon.prepared = 0 : i64}, %[[B:[a-z0-9]+]]: tensor<8xf32> {tenon.prepared = 1 : i64})
// CHECK-NEXT:    tenon.fused_linear {{.*}} = %[[A]]: tensor<8xf32>)
// CHECK:         scf.if
// CHECK-NEXT:      tenon.add %{{.*}}, %[[B]]
func.func @nested(%c: i1, %x: tensor<4x8xf32>, %w: tensor<8x8xf32> {tenon.param}, %s: tensor<8xf32> {tenon.param}) -> tensor<4x8xf32> {
  %0 = tenon.relu %s : tensor<8xf32>
  %1 = tenon.tanh %s : tensor<8xf32>
  %2 = tenon.fused_linear %x, %w : tensor<4x8xf32>, tensor<8x8xf32>
      epilogue(%acc: tensor<4x8xf32>, %b = %0: tensor<8xf32>) -> tensor<4x8xf32> {
    %4 = tenon.add %acc, %b : tensor<4x8xf32>, tensor<8xf32>
    tenon.yield %4 : tensor<4x8xf32>
  }
  %3 = scf.if %c -> tensor<4x8xf32> {
    %5 = tenon.add %2, %1 : tensor<4x8xf32>, tensor<8xf32>
    scf.yield %5 : tensor<4x8xf32>
  } else {
    scf.yield %2 : tensor<4x8xf32>
  }
  return %3 : tensor<4x8xf32>
}

// -----

// A value that is also returned is prepared once; one that is only returned is
// computed by run.
// CHECK-LABEL: func.func private @returned_prepare(
// CHECK-NEXT:    %[[A:.*]] = tenon.relu
// CHECK-NEXT:    return %[[A]]
// CHECK:       func.func private @returned_run(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<8xf32> {tenon.prepared = 0 : i64})
// CHECK-NEXT:    %[[M:.*]] = tenon.mul %{{.*}}, %[[A]]
// CHECK-NEXT:    %[[T:.*]] = tenon.tanh %[[A]]
// CHECK-NEXT:    return %[[M]], %[[A]], %[[T]]
func.func private @returned(%x: tensor<4x8xf32>, %s: tensor<8xf32> {tenon.param}) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = tenon.relu %s : tensor<8xf32>
  %1 = tenon.mul %x, %0 : tensor<4x8xf32>, tensor<8xf32>
  %2 = tenon.tanh %0 : tensor<8xf32>
  return %1, %0, %2 : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Autocast: parameters of every shape are cast once a version of them, the input with each call.
// CHECK-LABEL: func.func @autocast_prepare(
// CHECK-SAME:    %{{.*}}: tensor<8x16xf32> {tenon.param}, %{{.*}}: tensor<8xf32> {tenon.param}, %{{.*}}: tensor<4x1xf32> {tenon.param}, %{{.*}}: tensor<f32> {tenon.param})
// CHECK-SAME:    -> (tensor<8x16xbf16>, tensor<8xbf16>, tensor<4x1xbf16>, tensor<bf16>)
// CHECK-COUNT-4: tenon.cast
// CHECK-LABEL: func.func @autocast_run(
// CHECK-NEXT:    %[[X:.*]] = tenon.cast %{{.*}} : tensor<4x16xf32> -> tensor<4x16xbf16>
// CHECK-NOT:     tenon.cast
func.func @autocast(%x: tensor<4x16xf32>, %w: tensor<8x16xf32> {tenon.param}, %b: tensor<8xf32> {tenon.param},
                    %c: tensor<4x1xf32> {tenon.param}, %s: tensor<f32> {tenon.param}) -> tensor<4x8xbf16> {
  %x16 = tenon.cast %x : tensor<4x16xf32> -> tensor<4x16xbf16>
  %w16 = tenon.cast %w : tensor<8x16xf32> -> tensor<8x16xbf16>
  %b16 = tenon.cast %b : tensor<8xf32> -> tensor<8xbf16>
  %c16 = tenon.cast %c : tensor<4x1xf32> -> tensor<4x1xbf16>
  %s16 = tenon.cast %s : tensor<f32> -> tensor<bf16>
  %0 = tenon.linear %x16, %w16, %b16 : (tensor<4x16xbf16>, tensor<8x16xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
  %1 = tenon.mul %0, %c16 : tensor<4x8xbf16>, tensor<4x1xbf16>
  %2 = tenon.add %1, %s16 : tensor<4x8xbf16>, tensor<bf16>
  return %2 : tensor<4x8xbf16>
}
