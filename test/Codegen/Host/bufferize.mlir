// RUN: tenon-opt %s --tenon-bufferize | FileCheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>

// An op that would work in place on an input works on a copy: inputs are never
// written.
// CHECK-LABEL: func.func @input_is_not_written(
// CHECK-SAME:    %[[X:.*]]: memref<4x64xf32>) -> memref<4x64xf32>
// CHECK:         %[[Y:.*]] = memref.alloc()
// CHECK:         memref.copy %[[X]], %[[Y]]
// CHECK:         linalg.generic {{.*}} outs(%[[Y]] : memref<4x64xf32>)
// CHECK:         return %[[Y]]
// CHECK-NOT:     bufferization.writable
func.func @input_is_not_written(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %0 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]}
      outs(%x : tensor<4x64xf32>) {
  ^bb0(%out: f32):
    %1 = arith.addf %out, %out : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// A constant in an epilogue is a value of its ops there, no global.
// CHECK-LABEL: func.func @constant_in_epilogue(
// CHECK-NOT:     memref.get_global
// CHECK:         tenon.epilogue ins(%[[A:.*]] = %{{.*}}: memref<64xf32>) outs(%{{.*}}: memref<64xf32>) {
// CHECK-NEXT:      %[[C:.*]] = arith.constant dense<1.000000e+00> : tensor<64xf32>
// CHECK-NEXT:      %[[MAX:.*]] = arith.maximumf %[[A]], %[[C]] : tensor<64xf32>
// CHECK-NEXT:      tenon.yield %[[MAX]]
func.func @constant_in_epilogue(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y = tensor.empty() : tensor<64xf32>
  %0 = tenon.epilogue ins(%a = %x: tensor<64xf32>) outs(%y: tensor<64xf32>) -> tensor<64xf32> {
    %c = arith.constant dense<1.0> : tensor<64xf32>
    %1 = arith.maximumf %a, %c : tensor<64xf32>
    tenon.yield %1 : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}

// Kernels take bare pointers: what has gaps is copied. Rows alone have none.
// CHECK-LABEL: func.func @slice(
// CHECK-SAME:    %[[X:.*]]: memref<8x64xf32>, %{{.*}}: memref<4x64xf32>
// CHECK:         %[[ROWS:.*]] = memref.subview %[[X]][1, 0] [4, 64] [1, 1]
// CHECK:         %[[COLUMNS:.*]] = memref.subview %[[X]][1, 2] [4, 32] [1, 1]
// CHECK:         tenon.epilogue ins(%{{.*}} = %[[ROWS]]: memref<4x64xf32, strided<[64, 1], offset: 64>>) outs
// CHECK:         %[[COPY:.*]] = memref.alloc() : memref<4x32xf32>
// CHECK:         memref.copy %[[COLUMNS]], %[[COPY]]
// CHECK:         tenon.epilogue ins(%{{.*}} = %[[COPY]]: memref<4x32xf32>) outs
func.func @slice(%x: tensor<8x64xf32>, %r: tensor<4x64xf32>) -> (tensor<4x64xf32>, tensor<4x32xf32>) {
  %rows = tensor.extract_slice %x[1, 0] [4, 64] [1, 1] : tensor<8x64xf32> to tensor<4x64xf32>
  %columns = tensor.extract_slice %x[1, 2] [4, 32] [1, 1] : tensor<8x64xf32> to tensor<4x32xf32>
  %y = tensor.empty() : tensor<4x64xf32>
  %0 = tenon.epilogue ins(%a = %rows: tensor<4x64xf32>) outs(%y: tensor<4x64xf32>) -> tensor<4x64xf32> {
    %2 = tenon.relu %a : tensor<4x64xf32>
    tenon.yield %2 : tensor<4x64xf32>
  }
  %z = tensor.empty() : tensor<4x32xf32>
  %1 = tenon.epilogue ins(%a = %columns: tensor<4x32xf32>) outs(%z: tensor<4x32xf32>) -> tensor<4x32xf32> {
    %2 = tenon.relu %a : tensor<4x32xf32>
    tenon.yield %2 : tensor<4x32xf32>
  }
  return %0, %1 : tensor<4x64xf32>, tensor<4x32xf32>
}
