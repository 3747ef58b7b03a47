// RUN: tenon-opt %s --tenon-fuse-epilogue --split-input-file | FileCheck %s
// RUN: tenon-opt %s --tenon-fuse-epilogue --split-input-file -o /dev/null \
// RUN:   --remarks-filter=tenon-fuse-epilogue 2>&1 | FileCheck %s --check-prefix=REMARK

// A chain of ops on a residual: read once, in 16 bits, and never written.
// CHECK-LABEL: func.func @fuse_scaled_residual(
// CHECK-SAME:    %[[X:.*]]: tensor<?x16xbf16>, %[[W:.*]]: tensor<8x16xbf16>, %[[R:.*]]: tensor<?x8xbf16>)
// CHECK-NEXT:    %[[Y:.*]] = tenon.fused_linear %[[X]], %[[W]]
// CHECK-SAME:      epilogue(%[[ACC:.*]]: tensor<?x8xbf16>, %[[IN:.*]] = %[[R]]: tensor<?x8xbf16>)
// CHECK-NEXT:      %[[WIDE:.*]] = tenon.cast %[[IN]]
// CHECK-NEXT:      %[[HALF:.*]] = tenon.mul %[[WIDE]], 5.000000e-01
// CHECK-NEXT:      %[[SUM:.*]] = tenon.add %[[ACC]], %[[HALF]]
// CHECK-NEXT:      tenon.yield %[[SUM]]
// REMARK: Passed] FuseOperand {{.*}} BytesSavedPerRow=64, Remark="tenon.mul of an operand fused into the linear of line {{[0-9]+}}"
// REMARK: Passed] FuseOperand {{.*}} BytesSavedPerRow=64, Remark="tenon.cast of an operand fused into the linear of line {{[0-9]+}}"
func.func @fuse_scaled_residual(%x: tensor<?x16xbf16>, %w: tensor<8x16xbf16>, %r: tensor<?x8xbf16>) -> tensor<?x8xbf16> {
  %0 = tenon.linear %x, %w : (tensor<?x16xbf16>, tensor<8x16xbf16>) -> tensor<?x8xbf16>
  %1 = tenon.cast %r : tensor<?x8xbf16> -> tensor<?x8xf32>
  %2 = tenon.mul %1, 0.5 : tensor<?x8xf32>
  %3 = tenon.add %0, %2 : tensor<?x8xbf16>, tensor<?x8xf32>
  return %3 : tensor<?x8xbf16>
}

// -----

// Two operands of one producer, one of which the epilogue reads already.
// CHECK-LABEL: func.func @fuse_producer_with_known_operand(
// CHECK:         epilogue(%[[ACC:.*]]: tensor<4x8xf32>, %[[A:.*]] = %{{.*}}: tensor<4x8xf32>, %[[B:.*]] = %{{.*}}: tensor<4x8xf32>)
// CHECK-NEXT:      %[[P:.*]] = tenon.mul %[[A]], %[[B]]
// CHECK-NEXT:      %[[S:.*]] = tenon.add %[[ACC]], %[[A]]
// CHECK-NEXT:      tenon.sub %[[S]], %[[P]]
func.func @fuse_producer_with_known_operand(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = tenon.mul %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.add %0, %a : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = tenon.sub %1, %p : tensor<4x8xf32>, tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// What the epilogue reads twice.
// CHECK-LABEL: func.func @fuse_producer_of_two_operands(
// CHECK:         epilogue(%[[ACC:.*]]: tensor<4x8xf32>, %[[A:.*]] = %{{.*}}: tensor<4x8xf32>)
// CHECK-NEXT:      %[[P:.*]] = tenon.relu %[[A]]
// CHECK-NEXT:      %[[S:.*]] = tenon.add %[[ACC]], %[[P]]
// CHECK-NEXT:      tenon.mul %[[S]], %[[P]]
func.func @fuse_producer_of_two_operands(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = tenon.relu %a : tensor<4x8xf32>
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.add %0, %p : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = tenon.mul %1, %p : tensor<4x8xf32>, tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// What another producer reads too, before that is in the epilogue.
// CHECK-LABEL: func.func @fuse_producer_of_a_producer(
// CHECK:         epilogue(%[[ACC:.*]]: tensor<4x8xf32>, %[[A:.*]] = %{{.*}}: tensor<4x8xf32>)
// CHECK-NEXT:      %[[P:.*]] = tenon.relu %[[A]]
// CHECK-NEXT:      %[[Q:.*]] = tenon.tanh %[[P]]
// CHECK-NEXT:      %[[S:.*]] = tenon.add %[[ACC]], %[[P]]
// CHECK-NEXT:      tenon.mul %[[S]], %[[Q]]
func.func @fuse_producer_of_a_producer(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %p = tenon.relu %a : tensor<4x8xf32>
  %q = tenon.tanh %p : tensor<4x8xf32>
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.add %0, %p : tensor<4x8xf32>, tensor<4x8xf32>
  %2 = tenon.mul %1, %q : tensor<4x8xf32>, tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// What something else reads too would be computed twice.
// CHECK-LABEL: func.func @no_fuse_shared_producer(
// CHECK-NEXT:    %[[R:.*]] = tenon.relu
// CHECK-NEXT:    %[[Y:.*]] = tenon.fused_linear
// CHECK:         return %[[Y]], %[[R]]
func.func @no_fuse_shared_producer(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %a: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %r = tenon.relu %a : tensor<4x8xf32>
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.add %0, %r : tensor<4x8xf32>, tensor<4x8xf32>
  return %1, %r : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A value that is the layer's input too stays outside.
// CHECK-LABEL: func.func @no_fuse_producer_of_input(
// CHECK-NEXT:    %[[R:.*]] = tenon.relu
// CHECK-NEXT:    tenon.fused_linear %[[R]], %{{.*}} epilogue(%{{.*}}, %{{.*}} = %[[R]]
func.func @no_fuse_producer_of_input(%w: tensor<8x8xf32>, %a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = tenon.relu %a : tensor<4x8xf32>
  %0 = tenon.linear %r, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = tenon.add %0, %r : tensor<4x8xf32>, tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// One value a feature: it costs nothing where it is, and may be hoisted.
// CHECK-LABEL: func.func @no_fuse_producer_of_features(
// CHECK-NEXT:    tenon.mul %{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32>
// CHECK-NEXT:    tenon.fused_linear
func.func @no_fuse_producer_of_features(%x: tensor<4x16xf32>, %w: tensor<8x16xf32>, %a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %p = tenon.mul %a, %b : tensor<8xf32>, tensor<8xf32>
  %0 = tenon.linear %x, %w : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %1 = tenon.mul %0, %p : tensor<4x8xf32>, tensor<8xf32>
  return %1 : tensor<4x8xf32>
}
