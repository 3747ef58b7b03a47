// RUN: tenon-opt %s --tenon-emit-kernels --tenon-clean-kernels --split-input-file | FileCheck %s --implicit-check-not=tenon.epilogue

// The kernels' names are numbered on the module; the host picks by alignment.
// CHECK: module attributes {gpu.container_module, tenon.kernels = ["in_place_map_v4", "in_place_map_v1"]}
// CHECK-LABEL: func.func @in_place
// CHECK-SAME: %[[Y:.*]]: memref<?x32xf32>, %[[B:.*]]: memref<32xf32>
// CHECK: memref.extract_aligned_pointer_as_index %[[Y]]
// CHECK: memref.extract_aligned_pointer_as_index %[[B]]
// CHECK: %[[BITS:.*]] = arith.andi %{{.*}}, %c15_i64
// CHECK: %[[ALIGNED:.*]] = arith.cmpi eq, %[[BITS]], %c0_i64
// CHECK: scf.if %[[ALIGNED]]
// CHECK: tenon.launch @kernels::@in_place_map_v4 {{.*}} threads(%c256) args(%[[Y]] : memref<?x32xf32>, %[[B]] : memref<32xf32>, %[[Y]] : memref<?x32xf32>, %{{.*}} : i64, %{{.*}} : i64)
// CHECK: else
// CHECK: tenon.launch @kernels::@in_place_map_v1
// Loads of all rows come before arithmetic, stores last.
// CHECK-LABEL: llvm.func @in_place_map_v4
// CHECK-SAME: gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 256>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT: llvm.load
// CHECK-COUNT-16: arith.addf
// CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// CHECK-LABEL: llvm.func @in_place_map_v1
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK-NOT: vector
func.func @in_place(%y: memref<?x32xf32>, %b: memref<32xf32>) {
  tenon.epilogue ins(%acc = %y: memref<?x32xf32>, %bias = %b: memref<32xf32>) outs(%y: memref<?x32xf32>) {
    %0 = tenon.add %acc, %bias : tensor<?x32xf32>, tensor<32xf32>
    tenon.yield %0 : tensor<?x32xf32>
  }
  return
}

// -----

// 16 bytes of the matrix are 8 lanes; f32 arithmetic; a bias in f32 takes two loads.
// CHECK-LABEL: llvm.func @bf16_map_v8
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xf32>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: llvm.bitcast %{{.*}} : vector<8xbf16> to vector<4xi32>
// CHECK: arith.shli %{{.*}} : i32
// CHECK: arith.andi %{{.*}} : i32
// CHECK: arith.addf %{{.*}} fastmath<contract> : f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>
func.func @bf16(%y: memref<?x32xbf16>, %b: memref<32xf32>) {
  tenon.epilogue ins(%acc = %y: memref<?x32xbf16>, %bias = %b: memref<32xf32>) outs(%y: memref<?x32xbf16>) {
    %0 = tenon.add %acc, %bias : tensor<?x32xbf16>, tensor<32xf32>
    tenon.yield %0 : tensor<?x32xbf16>
  }
  return
}

// -----

// As wide as N allows; N = 7 leaves one kernel and no choice.
// CHECK: tenon.kernels = ["six_map_v2", "six_map_v1", "seven_map_v1"]
// CHECK-LABEL: func.func @seven
// CHECK-NOT: scf.if
// CHECK: return
func.func @six(%y: memref<?x6xf32>) {
  tenon.epilogue ins(%a = %y: memref<?x6xf32>) outs(%y: memref<?x6xf32>) {
    %0 = tenon.relu %a : tensor<?x6xf32>
    tenon.yield %0 : tensor<?x6xf32>
  }
  return
}
func.func @seven(%y: memref<?x7xf32>) {
  tenon.epilogue ins(%a = %y: memref<?x7xf32>) outs(%y: memref<?x7xf32>) {
    %0 = tenon.relu %a : tensor<?x7xf32>
    tenon.yield %0 : tensor<?x7xf32>
  }
  return
}

// -----

// Kernels' names stay apart.
// CHECK: tenon.kernels = ["twice_map_v1", "twice_map_v1_1"]
func.func @twice(%y: memref<5xf64>) {
  tenon.epilogue ins(%a = %y: memref<5xf64>) outs(%y: memref<5xf64>) {
    %0 = tenon.relu %a : tensor<5xf64>
    tenon.yield %0 : tensor<5xf64>
  }
  tenon.epilogue ins(%a = %y: memref<5xf64>) outs(%y: memref<5xf64>) {
    %0 = tenon.tanh %a : tensor<5xf64>
    tenon.yield %0 : tensor<5xf64>
  }
  return
}

// -----

// Four lanes, as many as 16 bytes of the wider type hold; bf16 is read 8 bytes at a time.
// CHECK-LABEL: llvm.func @widen_map_v4
// CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<4xbf16>
// CHECK: llvm.bitcast %{{.*}} : vector<4xbf16> to vector<2xi32>
// CHECK-NOT: arith.truncf
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
func.func @widen(%x: memref<?x32xbf16>, %y: memref<?x32xf32>) {
  tenon.epilogue ins(%a = %x: memref<?x32xbf16>) outs(%y: memref<?x32xf32>) {
    %0 = tenon.cast %a : tensor<?x32xbf16> -> tensor<?x32xf32>
    tenon.yield %0 : tensor<?x32xf32>
  }
  return
}

// -----

// Between types of 16 bits through f32.
// CHECK-LABEL: llvm.func @narrow_map_v8
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xf16>
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: arith.truncf %[[WIDE]] : f32 to bf16
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
func.func @narrow(%x: memref<?x32xf16>, %y: memref<?x32xbf16>) {
  tenon.epilogue ins(%a = %x: memref<?x32xf16>) outs(%y: memref<?x32xbf16>) {
    %0 = tenon.cast %a : tensor<?x32xf16> -> tensor<?x32xbf16>
    tenon.yield %0 : tensor<?x32xbf16>
  }
  return
}

// -----

// Twice a sum with an operand that is the same in all rows: two products, of which one serves for all rows, and a sum that
// can be fused with the other.
// CHECK-LABEL: llvm.func @twice_map_v1(
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK: %[[BIAS:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: %[[Y:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: %[[A:.*]] = arith.mulf %[[Y]], %[[TWO]] fastmath<contract> : f32
// CHECK-NEXT: %[[B:.*]] = arith.mulf %[[BIAS]], %[[TWO]] fastmath<contract> : f32
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[B]] fastmath<contract> : f32
// CHECK-NOT: {{addf|mulf}}
// CHECK: llvm.store %[[SUM]],
// CHECK: llvm.return
// Whichever is the broadcast one.
// CHECK-LABEL: llvm.func @bias_first_map_v1(
// CHECK-DAG: %[[FOUR:.*]] = arith.constant 4.000000e+00 : f32
// CHECK: %[[BIAS:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: %[[Y:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: %[[A:.*]] = arith.mulf %[[Y]], %[[FOUR]] fastmath<contract> : f32
// CHECK-NEXT: %[[B:.*]] = arith.mulf %[[BIAS]], %[[FOUR]] fastmath<contract> : f32
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[A]], %[[B]] fastmath<contract> : f32
// CHECK-NOT: {{addf|mulf}}
// CHECK: llvm.store %[[SUM]],
// A factor that is no power of two would be rounded twice, one below 1 could lose digits of small numbers, one of more
// than 2^16 could leave f32's range.
// CHECK-LABEL: llvm.func @thrice_map_v1(
// CHECK-DAG: %[[FACTOR:.*]] = arith.constant 3.000000e+00 : f32
// CHECK: %[[BIAS:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: %[[Y:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: arith.mulf
// CHECK: %[[SUM:.*]] = arith.addf %[[Y]], %[[BIAS]] fastmath<contract> : f32
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[SUM]], %[[FACTOR]] fastmath<contract> : f32
// CHECK-NOT: {{addf|mulf}}
// CHECK: llvm.store %[[PRODUCT]],
// CHECK-LABEL: llvm.func @half_map_v1(
// CHECK-DAG: %[[FACTOR:.*]] = arith.constant 5.000000e-01 : f32
// CHECK: %[[BIAS:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: %[[Y:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: arith.mulf
// CHECK: %[[SUM:.*]] = arith.addf %[[Y]], %[[BIAS]] fastmath<contract> : f32
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[SUM]], %[[FACTOR]] fastmath<contract> : f32
// CHECK-NOT: {{addf|mulf}}
// CHECK: llvm.store %[[PRODUCT]],
// CHECK-LABEL: llvm.func @large_map_v1(
// CHECK-DAG: %[[FACTOR:.*]] = arith.constant 1.310720e+05 : f32
// CHECK: %[[BIAS:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: %[[Y:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: arith.mulf
// CHECK: %[[SUM:.*]] = arith.addf %[[Y]], %[[BIAS]] fastmath<contract> : f32
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[SUM]], %[[FACTOR]] fastmath<contract> : f32
// CHECK-NOT: {{addf|mulf}}
// CHECK: llvm.store %[[PRODUCT]],
// Two matrices: no product would be of more elements than one.
// CHECK-LABEL: llvm.func @matrices_map_v1(
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK: %[[Y:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: %[[R:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: arith.mulf
// CHECK: %[[SUM:.*]] = arith.addf %[[Y]], %[[R]] fastmath<contract> : f32
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[SUM]], %[[TWO]] fastmath<contract> : f32
// CHECK-NOT: {{addf|mulf}}
// CHECK: llvm.store %[[PRODUCT]],
// The sum is needed anyway.
// CHECK-LABEL: llvm.func @sum_too_map_v1(
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK: %[[BIAS:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK: %[[Y:.*]] = llvm.load {{.*}} : !llvm.ptr<1> -> f32
// CHECK-NOT: arith.mulf
// CHECK: %[[SUM:.*]] = arith.addf %[[Y]], %[[BIAS]] fastmath<contract> : f32
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[SUM]], %[[TWO]] fastmath<contract> : f32
// CHECK-NOT: {{addf|mulf}}
// CHECK: llvm.store
// CHECK: llvm.store
func.func @twice(%y: memref<5x7xf32>, %b: memref<7xf32>) {
  tenon.epilogue ins(%acc = %y: memref<5x7xf32>, %bias = %b: memref<7xf32>) outs(%y: memref<5x7xf32>) {
    %0 = tenon.add %acc, %bias : tensor<5x7xf32>, tensor<7xf32>
    %1 = tenon.mul %0, 2.0 : tensor<5x7xf32>
    tenon.yield %1 : tensor<5x7xf32>
  }
  return
}

func.func @bias_first(%y: memref<5x7xf32>, %b: memref<7xf32>) {
  tenon.epilogue ins(%acc = %y: memref<5x7xf32>, %bias = %b: memref<7xf32>) outs(%y: memref<5x7xf32>) {
    %0 = tenon.add %bias, %acc : tensor<7xf32>, tensor<5x7xf32>
    %1 = tenon.mul %0, 4.0 : tensor<5x7xf32>
    tenon.yield %1 : tensor<5x7xf32>
  }
  return
}

func.func @thrice(%y: memref<5x7xf32>, %b: memref<7xf32>) {
  tenon.epilogue ins(%acc = %y: memref<5x7xf32>, %bias = %b: memref<7xf32>) outs(%y: memref<5x7xf32>) {
    %0 = tenon.add %acc, %bias : tensor<5x7xf32>, tensor<7xf32>
    %1 = tenon.mul %0, 3.0 : tensor<5x7xf32>
    tenon.yield %1 : tensor<5x7xf32>
  }
  return
}

func.func @half(%y: memref<5x7xf32>, %b: memref<7xf32>) {
  tenon.epilogue ins(%acc = %y: memref<5x7xf32>, %bias = %b: memref<7xf32>) outs(%y: memref<5x7xf32>) {
    %0 = tenon.add %acc, %bias : tensor<5x7xf32>, tensor<7xf32>
    %1 = tenon.mul %0, 0.5 : tensor<5x7xf32>
    tenon.yield %1 : tensor<5x7xf32>
  }
  return
}

func.func @large(%y: memref<5x7xf32>, %b: memref<7xf32>) {
  tenon.epilogue ins(%acc = %y: memref<5x7xf32>, %bias = %b: memref<7xf32>) outs(%y: memref<5x7xf32>) {
    %0 = tenon.add %acc, %bias : tensor<5x7xf32>, tensor<7xf32>
    %1 = tenon.mul %0, 131072.0 : tensor<5x7xf32>
    tenon.yield %1 : tensor<5x7xf32>
  }
  return
}

func.func @matrices(%y: memref<5x7xf32>, %b: memref<5x7xf32>) {
  tenon.epilogue ins(%acc = %y: memref<5x7xf32>, %bias = %b: memref<5x7xf32>) outs(%y: memref<5x7xf32>) {
    %0 = tenon.add %acc, %bias : tensor<5x7xf32>, tensor<5x7xf32>
    %1 = tenon.mul %0, 2.0 : tensor<5x7xf32>
    tenon.yield %1 : tensor<5x7xf32>
  }
  return
}

func.func @sum_too(%y: memref<5x7xf32>, %b: memref<7xf32>, %z: memref<5x7xf32>) {
  tenon.epilogue ins(%acc = %y: memref<5x7xf32>, %bias = %b: memref<7xf32>) outs(%y: memref<5x7xf32>, %z: memref<5x7xf32>) {
    %0 = tenon.add %acc, %bias : tensor<5x7xf32>, tensor<7xf32>
    %1 = tenon.mul %0, 2.0 : tensor<5x7xf32>
    tenon.yield %1, %0 : tensor<5x7xf32>, tensor<5x7xf32>
  }
  return
}
