// A matrix is cast to 8 bits and its scales are found by one kernel, which gives them where they are read.
// RUN: tenon-opt %s --tenon-to-blaslt | FileCheck %s

// CHECK-LABEL: @rows
// CHECK: %[[ALL:.*]]:2 = tenon.epilogue ins(%{{.*}} = %arg0: tensor<?x256xbf16>) outs({{.*}}) -> (tensor<?x256xf8E4M3FN>, tensor<?x1xf32>) {
// CHECK: tenon.reduce_row max
// CHECK: %[[SCALE:.*]] = tenon.div
// CHECK: %[[CAST:.*]] = tenon.cast %{{.*}} : tensor<?x256xf32> -> tensor<?x256xf8E4M3FN>
// CHECK: tenon.yield %[[CAST]], %[[SCALE]]
// CHECK-NOT: tenon.epilogue
// CHECK: return %[[ALL]]#0, %[[ALL]]#1
func.func @rows(%x: tensor<?x256xbf16>) -> (tensor<?x256xf8E4M3FN>, tensor<?x1xf32>) {
  %0 = tenon.cast %x : tensor<?x256xbf16> -> tensor<?x256xf32>
  %1 = tenon.mul %0, -1.0 : tensor<?x256xf32>
  %2 = tenon.max %0, %1 : tensor<?x256xf32>, tensor<?x256xf32>
  %3 = tenon.reduce_row max %2 : tensor<?x256xf32>
  %4 = tenon.div %3, 448.0 : tensor<?x1xf32>
  %5 = tenon.div %0, %4 : tensor<?x256xf32>, tensor<?x1xf32>
  %6 = tenon.cast %5 : tensor<?x256xf32> -> tensor<?x256xf8E4M3FN>
  return %6, %4 : tensor<?x256xf8E4M3FN>, tensor<?x1xf32>
}

// CHECK-LABEL: @groups
// CHECK: tenon.epilogue
// CHECK: tenon.repeat_columns
// CHECK-NOT: tenon.epilogue
// CHECK: return
func.func @groups(%x: tensor<?x256xf32>) -> (tensor<?x256xf8E4M3FN>, tensor<?x2xf32>) {
  %0 = tenon.relu %x : tensor<?x256xf32>
  %1 = tenon.reduce_row max %0 {groups = 2} : tensor<?x256xf32>
  %2 = tenon.div %1, 448.0 : tensor<?x2xf32>
  %3 = tenon.repeat_columns %2 {times = 128} : tensor<?x2xf32>
  %4 = tenon.div %0, %3 : tensor<?x256xf32>, tensor<?x256xf32>
  %5 = tenon.cast %4 : tensor<?x256xf32> -> tensor<?x256xf8E4M3FN>
  return %5, %2 : tensor<?x256xf8E4M3FN>, tensor<?x2xf32>
}

// What reads the scale ahead of the cast keeps it out.
// CHECK-LABEL: @read_ahead
// CHECK: tenon.epilogue
// CHECK: tenon.reduce_row
// CHECK: tenon.epilogue
// CHECK: tenon.cast
func.func @read_ahead(%x: tensor<16x256xf32>) -> (tensor<16x256xf8E4M3FN>, tensor<16xf32>) {
  %0 = tenon.reduce_row max %x : tensor<16x256xf32>
  %1 = tensor.collapse_shape %0 [[0, 1]] : tensor<16x1xf32> into tensor<16xf32>
  %2 = tenon.div %x, %0 : tensor<16x256xf32>, tensor<16x1xf32>
  %3 = tenon.cast %2 : tensor<16x256xf32> -> tensor<16x256xf8E4M3FN>
  return %3, %1 : tensor<16x256xf8E4M3FN>, tensor<16xf32>
}
