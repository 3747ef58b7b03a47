// Launches whose kernels read matrices through tensor maps: the runtime encodes them on the stack.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics --tenon-host-to-llvm | FileCheck %s --implicit-check-not=tenon.launch

module attributes {gpu.container_module, tenon.kernels = ["tiled"]} {
  gpu.module @kernels {
    llvm.func @tiled(!llvm.ptr {llvm.byval = !llvm.array<128 x i8>}, !llvm.ptr {llvm.byval = !llvm.array<128 x i8>}, !llvm.ptr, i64) attributes {gpu.kernel}
  }

  // Element type, whether f32 is rounded, the box's rows and columns, the swizzle: those of w, then of x.
  // CHECK: llvm.mlir.global internal constant @[[W_MAP:tenon_tensor_map_[0-9]+]]() {{.*}} : !llvm.struct<(i32, i32, i32, i32, i32)> {
  // CHECK: llvm.mlir.constant(2 : i32)
  // CHECK-NEXT: llvm.insertvalue {{.*}}[0]
  // CHECK-NEXT: llvm.mlir.constant(0 : i32)
  // CHECK-NEXT: llvm.insertvalue {{.*}}[1]
  // CHECK-NEXT: llvm.mlir.constant(256 : i32)
  // CHECK-NEXT: llvm.insertvalue {{.*}}[2]
  // CHECK-NEXT: llvm.mlir.constant(16 : i32)
  // CHECK-NEXT: llvm.insertvalue {{.*}}[3]
  // CHECK-NEXT: llvm.mlir.constant(32 : i32)
  // CHECK-NEXT: llvm.insertvalue {{.*}}[4]
  // CHECK: llvm.mlir.global internal constant @[[X_MAP:tenon_tensor_map_[0-9]+]]()
  // CHECK: llvm.mlir.constant(0 : i32)
  // CHECK-NEXT: llvm.insertvalue {{.*}}[0]
  // CHECK-NEXT: llvm.mlir.constant(1 : i32)
  // CHECK-NEXT: llvm.insertvalue {{.*}}[1]
  // CHECK-NEXT: llvm.mlir.constant(128 : i32)
  // CHECK-NEXT: llvm.insertvalue {{.*}}[2]
  // CHECK-NEXT: llvm.mlir.constant(32 : i32)
  // CHECK-NEXT: llvm.insertvalue {{.*}}[3]
  // CHECK-NEXT: llvm.mlir.constant(128 : i32)
  // CHECK-NEXT: llvm.insertvalue {{.*}}[4]

  // CHECK-LABEL: llvm.func @maps(
  // CHECK-SAME: %[[CALL:[^:]*]]: !llvm.ptr
  // Outside of the loop, aligned as CUDA wants it.
  // CHECK-DAG: %[[MAPS:.*]] = llvm.alloca %{{.*}} x !llvm.array<2 x array<128 x i8>> {alignment = 128 : i64}
  // CHECK-DAG: %[[SLOTS:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(ptr, i64)>
  // CHECK-DAG: %[[ADDRESSES:.*]] = llvm.alloca %{{.*}} x !llvm.array<4 x ptr>
  // CHECK: llvm.br
  // CHECK-NOT: llvm.alloca

  // CHECK: %[[X_SLOT:.*]] = llvm.getelementptr %[[MAPS]][0, 0]
  // CHECK: %[[X_CONSTANT:.*]] = llvm.mlir.addressof @[[X_MAP]]
  // CHECK: %[[X:.*]] = llvm.extractvalue %[[X_VIEW:.*]][1] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
  // CHECK: %[[ROWS:.*]] = llvm.extractvalue %[[X_VIEW]][3, 0]
  // CHECK: %[[COLUMNS:.*]] = llvm.extractvalue %[[X_VIEW]][3, 1]
  // CHECK: llvm.call @tenonEncodeTensorMap(%[[CALL]], %[[X_CONSTANT]], %[[X]], %[[ROWS]], %[[COLUMNS]], %[[X_SLOT]]) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr) -> ()
  // CHECK: %[[X_ENTRY:.*]] = llvm.getelementptr %[[ADDRESSES]][0, 0]
  // CHECK: llvm.store %[[X_SLOT]], %[[X_ENTRY]]

  // A view's first element, not its memory's.
  // CHECK: %[[W_SLOT:.*]] = llvm.getelementptr %[[MAPS]][0, 1]
  // CHECK: %[[W_CONSTANT:.*]] = llvm.mlir.addressof @[[W_MAP]]
  // CHECK: %[[W_BASE:.*]] = llvm.extractvalue %{{.*}}[1]
  // CHECK: %[[OFFSET:.*]] = llvm.extractvalue %{{.*}}[2]
  // CHECK: %[[W:.*]] = llvm.getelementptr %[[W_BASE]][%[[OFFSET]]]
  // CHECK: llvm.call @tenonEncodeTensorMap(%[[CALL]], %[[W_CONSTANT]], %[[W]], %{{[^,]*}}, %{{[^,]*}}, %[[W_SLOT]])
  // CHECK: %[[W_ENTRY:.*]] = llvm.getelementptr %[[ADDRESSES]][0, 1]
  // CHECK: llvm.store %[[W_SLOT]], %[[W_ENTRY]]

  // What follows the maps is as ever.
  // CHECK: %[[Y_SLOT:.*]] = llvm.getelementptr %[[SLOTS]][0, 0]
  // CHECK: %[[Y_ENTRY:.*]] = llvm.getelementptr %[[ADDRESSES]][0, 2]
  // CHECK: llvm.store %[[Y_SLOT]], %[[Y_ENTRY]]
  // CHECK: %[[TOKEN_SLOT:.*]] = llvm.getelementptr %[[SLOTS]][0, 1]
  // CHECK: %[[TOKEN_ENTRY:.*]] = llvm.getelementptr %[[ADDRESSES]][0, 3]
  // CHECK: llvm.store %[[TOKEN_SLOT]], %[[TOKEN_ENTRY]]
  // CHECK: llvm.call @tenonLaunchPersistent(%[[CALL]], {{.*}}, %[[ADDRESSES]], %[[TOKEN_SLOT]])
  func.func @maps(%call: !llvm.ptr, %x: memref<?x64xf32>, %w: memref<32x64xbf16, strided<[64, 1], offset: ?>>, %y: memref<?x32xf32>, %work: index) {
    %token = arith.constant 0 : i64
    %one = arith.constant 1 : index
    cf.br ^loop
  ^loop:
    tenon.launch @kernels::@tiled blocks(%work) threads(%one)
        args(%x : memref<?x64xf32>, %w : memref<32x64xbf16, strided<[64, 1], offset: ?>>, %y : memref<?x32xf32>, %token : i64)
        {persistent = 192 : i64,
         tensor_maps = [#tenon.tensor_map<box = 128x32, swizzle = 128, rounds_tf32 = true>,
                              #tenon.tensor_map<box = 256x16, swizzle = 32>]}
    cf.br ^loop
  }
}

// -----

module attributes {gpu.container_module, tenon.kernels = ["tiled"]} {
  gpu.module @kernels {
    llvm.func @tiled(!llvm.ptr) attributes {gpu.kernel}
  }
  func.func @strided(%call: !llvm.ptr, %x: memref<?x64xf16, strided<[65, 1]>>) {
    %one = arith.constant 1 : index
    // expected-error @below {{operand #0 of the kernel, 'memref<?x64xf16, strided<[65, 1]>>', cannot be read through #tenon.tensor_map<box = 64x64, swizzle = 128>: it must be a contiguous matrix, not of f64, rounded to tf32 only if it is f32, and a row of the box a multiple of 16 bytes, at most the swizzle's}}
    // expected-error @below {{failed to legalize}}
    tenon.launch @kernels::@tiled blocks(%one) threads(%one)
        args(%x : memref<?x64xf16, strided<[65, 1]>>) {tensor_maps = [#tenon.tensor_map<box = 64x64, swizzle = 128>]}
    return
  }
}

// -----

module attributes {gpu.container_module, tenon.kernels = ["tiled"]} {
  gpu.module @kernels {
    llvm.func @tiled(!llvm.ptr) attributes {gpu.kernel}
  }
  func.func @one_row(%call: !llvm.ptr, %x: memref<64xf16>) {
    %one = arith.constant 1 : index
    // expected-error @below {{operand #0 of the kernel, 'memref<64xf16>', cannot be read}}
    // expected-error @below {{failed to legalize}}
    tenon.launch @kernels::@tiled blocks(%one) threads(%one)
        args(%x : memref<64xf16>) {tensor_maps = [#tenon.tensor_map<box = 64x64, swizzle = 128>]}
    return
  }
}

// -----

module attributes {gpu.container_module, tenon.kernels = ["tiled"]} {
  gpu.module @kernels {
    llvm.func @tiled(!llvm.ptr) attributes {gpu.kernel}
  }
  func.func @pointer(%call: !llvm.ptr, %x: !llvm.ptr) {
    %one = arith.constant 1 : index
    // expected-error @below {{operand #0 of the kernel, '!llvm.ptr', cannot be read}}
    // expected-error @below {{failed to legalize}}
    tenon.launch @kernels::@tiled blocks(%one) threads(%one)
        args(%x : !llvm.ptr) {tensor_maps = [#tenon.tensor_map<box = 64x64, swizzle = 128>]}
    return
  }
}

// -----

module attributes {gpu.container_module, tenon.kernels = ["tiled"]} {
  gpu.module @kernels {
    llvm.func @tiled(!llvm.ptr) attributes {gpu.kernel}
  }
  func.func @f64(%call: !llvm.ptr, %x: memref<?x64xf64>) {
    %one = arith.constant 1 : index
    // expected-error @below {{operand #0 of the kernel, 'memref<?x64xf64>', cannot be read}}
    // expected-error @below {{failed to legalize}}
    tenon.launch @kernels::@tiled blocks(%one) threads(%one)
        args(%x : memref<?x64xf64>) {tensor_maps = [#tenon.tensor_map<box = 64x16, swizzle = 128>]}
    return
  }
}

// -----

module attributes {gpu.container_module, tenon.kernels = ["tiled"]} {
  gpu.module @kernels {
    llvm.func @tiled(!llvm.ptr) attributes {gpu.kernel}
  }
  func.func @rounds_f16(%call: !llvm.ptr, %x: memref<?x64xf16>) {
    %one = arith.constant 1 : index
    // expected-error @below {{operand #0 of the kernel, 'memref<?x64xf16>', cannot be read}}
    // expected-error @below {{failed to legalize}}
    tenon.launch @kernels::@tiled blocks(%one) threads(%one)
        args(%x : memref<?x64xf16>) {tensor_maps = [#tenon.tensor_map<box = 64x64, swizzle = 128, rounds_tf32 = true>]}
    return
  }
}

// -----

module attributes {gpu.container_module, tenon.kernels = ["tiled"]} {
  gpu.module @kernels {
    llvm.func @tiled(!llvm.ptr) attributes {gpu.kernel}
  }
  func.func @wide(%call: !llvm.ptr, %x: memref<?x64xf32>) {
    %one = arith.constant 1 : index
    // expected-error @below {{operand #0 of the kernel, 'memref<?x64xf32>', cannot be read}}
    // expected-error @below {{failed to legalize}}
    tenon.launch @kernels::@tiled blocks(%one) threads(%one)
        args(%x : memref<?x64xf32>) {tensor_maps = [#tenon.tensor_map<box = 64x64, swizzle = 128>]}
    return
  }
}

// -----

module attributes {gpu.container_module, tenon.kernels = ["tiled"]} {
  gpu.module @kernels {
    llvm.func @tiled(!llvm.ptr) attributes {gpu.kernel}
  }
  func.func @odd(%call: !llvm.ptr, %x: memref<?x64xf16>) {
    %one = arith.constant 1 : index
    // expected-error @below {{operand #0 of the kernel, 'memref<?x64xf16>', cannot be read}}
    // expected-error @below {{failed to legalize}}
    tenon.launch @kernels::@tiled blocks(%one) threads(%one)
        args(%x : memref<?x64xf16>) {tensor_maps = [#tenon.tensor_map<box = 64x60, swizzle = 128>]}
    return
  }
}

// -----

module attributes {gpu.container_module, tenon.kernels = ["tiled"]} {
  gpu.module @kernels {
    llvm.func @tiled(!llvm.ptr) attributes {gpu.kernel}
  }
  func.func @too_many(%call: !llvm.ptr, %x: memref<?x64xf16>) {
    %one = arith.constant 1 : index
    // expected-error @below {{has 2 tensor maps, but 1 operands; give it the matrices first}}
    // expected-error @below {{failed to legalize}}
    tenon.launch @kernels::@tiled blocks(%one) threads(%one)
        args(%x : memref<?x64xf16>) {tensor_maps = [#tenon.tensor_map<box = 64x64, swizzle = 128>, #tenon.tensor_map<box = 64x64, swizzle = 128>]}
    return
  }
}
