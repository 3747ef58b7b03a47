// RUN: tenon-opt %s --tenon-host-abi=device=cpu --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// The returned buffer is the caller's, the other one a slice of the workspace.
// CHECK-LABEL: func.func @f__cpu_workspace(
// CHECK-SAME:    %[[D:.*]]: !llvm.ptr) -> i64
// CHECK:         %[[M:.*]] = memref.dim
// CHECK:         %[[BYTES:.*]] = arith.muli %[[M]], %c256
// CHECK:         return
// CHECK-LABEL: func.func @f__cpu(
// CHECK-SAME:    %[[CALL:.*]]: !llvm.ptr, %[[D:.*]]: !llvm.ptr, %[[WS:.*]]: !llvm.ptr) {
// CHECK:         %[[XP:.*]] = llvm.load %[[D]]
// CHECK:         %[[X:.*]] = builtin.unrealized_conversion_cast {{.*}} to memref<?x64xf32>
// CHECK:         llvm.getelementptr %[[D]][1]
// CHECK:         %[[Y:.*]] = builtin.unrealized_conversion_cast {{.*}} to memref<?x64xf32>
// CHECK:         %[[TMP:.*]] = memref.view
// CHECK-NOT:     memref.alloc
// CHECK:         memref.copy %[[X]], %[[TMP]]
// CHECK:         memref.copy %[[TMP]], %[[Y]]
// CHECK:         return{{$}}
func.func @f(%x: memref<?x64xf32>) -> memref<?x64xf32> {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?x64xf32>
  %tmp = memref.alloc(%m) : memref<?x64xf32>
  %y = memref.alloc(%m) : memref<?x64xf32>
  memref.copy %x, %tmp : memref<?x64xf32> to memref<?x64xf32>
  memref.copy %tmp, %y : memref<?x64xf32> to memref<?x64xf32>
  return %y : memref<?x64xf32>
}

// -----

// A buffer that is returned twice, and an input that is returned, are copied.
// CHECK-LABEL: func.func @twice__cpu(
// CHECK:         %[[X:.*]] = builtin.unrealized_conversion_cast
// CHECK:         %[[Y0:.*]] = builtin.unrealized_conversion_cast
// CHECK:         %[[Y1:.*]] = builtin.unrealized_conversion_cast
// CHECK:         %[[Y2:.*]] = builtin.unrealized_conversion_cast
// CHECK:         memref.copy %[[X]], %[[Y0]]
// CHECK:         memref.copy %[[Y0]], %[[Y1]]
// CHECK:         memref.copy %[[X]], %[[Y2]]
func.func @twice(%x: memref<2x8xf32>) -> (memref<2x8xf32>, memref<2x8xf32>, memref<2x8xf32>) {
  %y = memref.alloc() : memref<2x8xf32>
  memref.copy %x, %y : memref<2x8xf32> to memref<2x8xf32>
  return %y, %y, %x : memref<2x8xf32>, memref<2x8xf32>, memref<2x8xf32>
}

// -----

// A vector is written last on the CPU: it may be a running statistic in place.
// CHECK-LABEL: func.func @statistic__cpu(
// CHECK:         %[[X:.*]] = builtin.unrealized_conversion_cast
// CHECK:         %[[Y:.*]] = builtin.unrealized_conversion_cast
// CHECK:         %[[TMP:.*]] = memref.view
// CHECK:         memref.copy %[[X]], %[[TMP]]
// CHECK:         memref.copy %[[TMP]], %[[Y]]
func.func @statistic(%x: memref<8xf32>) -> memref<8xf32> {
  %y = memref.alloc() : memref<8xf32>
  memref.copy %x, %y : memref<8xf32> to memref<8xf32>
  return %y : memref<8xf32>
}

// -----

// Slices begin at multiples of 256 bytes.
// CHECK-LABEL: func.func @aligned__cpu_workspace(
// CHECK:         %[[SIZE:.*]] = arith.constant 512 : i64
// CHECK:         return %[[SIZE]]
func.func @aligned(%x: memref<8xf32>) -> memref<8xf32> {
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  memref.copy %x, %a : memref<8xf32> to memref<8xf32>
  memref.copy %a, %b : memref<8xf32> to memref<8xf32>
  return %x : memref<8xf32>
}

// -----

// The third temporary begins where the first has ended, so it takes its slice;
// the second one's life overlaps both.
// CHECK-LABEL: func.func @share__cpu_workspace(
// CHECK:         %[[SIZE:.*]] = arith.constant 512 : i64
// CHECK:         return %[[SIZE]]
// CHECK-LABEL: func.func @share__cpu(
// CHECK:         %[[A:.*]] = memref.view %{{.*}}[%c0][]
// CHECK:         memref.copy %{{.*}}, %[[A]]
// CHECK:         %[[B:.*]] = memref.view %{{.*}}[%c256][]
// CHECK:         memref.copy %[[A]], %[[B]]
// CHECK:         memref.copy %[[B]], %[[A]]
func.func @share(%x: memref<8xf32>) -> memref<8xf32> {
  %a = memref.alloc() : memref<8xf32>
  memref.copy %x, %a : memref<8xf32> to memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  memref.copy %a, %b : memref<8xf32> to memref<8xf32>
  %c = memref.alloc() : memref<8xf32>
  memref.copy %b, %c : memref<8xf32> to memref<8xf32>
  return %c : memref<8xf32>
}

// -----

// A view of a buffer keeps it alive; another type has a slice of its own.
// CHECK-LABEL: func.func @no_share__cpu_workspace(
// CHECK:         %[[SIZE:.*]] = arith.constant 768 : i64
// CHECK:         return %[[SIZE]]
func.func @no_share(%x: memref<8xf32>, %z: memref<8xf16>) -> (memref<8xf32>, memref<8xf16>) {
  %a = memref.alloc() : memref<8xf32>
  memref.copy %x, %a : memref<8xf32> to memref<8xf32>
  %view = memref.cast %a : memref<8xf32> to memref<?xf32>
  %b = memref.alloc() : memref<8xf32>
  memref.copy %x, %b : memref<8xf32> to memref<8xf32>
  memref.copy %view, %b : memref<?xf32> to memref<8xf32>
  %c = memref.alloc() : memref<8xf16>
  memref.copy %z, %c : memref<8xf16> to memref<8xf16>
  return %b, %c : memref<8xf32>, memref<8xf16>
}

// -----

// Each i1 takes a byte, and an index eight: 64 * 32 and 8 * 64 bytes.
// CHECK-LABEL: func.func @stored__cpu_workspace(
// CHECK:         %[[BYTES:.*]] = arith.constant 2560 : i64
// CHECK:         return %[[BYTES]]
func.func @stored(%x: memref<8xf32>, %i: memref<64x32xi1>, %j: memref<64xindex>) -> memref<8xf32> {
  %a = memref.alloc() : memref<64x32xi1>
  %b = memref.alloc() : memref<64xindex>
  memref.copy %i, %a : memref<64x32xi1> to memref<64x32xi1>
  memref.copy %j, %b : memref<64xindex> to memref<64xindex>
  return %x : memref<8xf32>
}

// -----

func.func @unknown_size(%x: memref<8xf32>) -> memref<8xf32> {
  // expected-error @+1 {{is of elements whose size in memory is not known; a compiled model's buffers are of floats, integers of at most 128 bits or indices}}
  %a = memref.alloc() : memref<8xi129>
  return %x : memref<8xf32>
}

// -----

func.func @in_loop(%x: memref<8xf32>) -> memref<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    // expected-error @+1 {{is inside a loop or branch; a compiled model's temporaries are slices of one workspace and must be allocated at the top of the function}}
    %a = memref.alloc() : memref<8xf32>
    memref.copy %x, %a : memref<8xf32> to memref<8xf32>
  }
  return %x : memref<8xf32>
}

// -----

// expected-error @+1 {{takes and gives tensors only, but has a 'index'}}
func.func @scalar(%x: index) {
  return
}

// -----

// expected-error @+1 {{has control flow; a model's function is one block of tenon ops}}
func.func @blocks(%x: memref<8xf32>) -> memref<8xf32> {
  cf.br ^bb1
^bb1:
  return %x : memref<8xf32>
}
