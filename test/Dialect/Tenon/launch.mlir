// RUN: tenon-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: @launches
func.func @launches(%n: index, %bytes: i32, %x: memref<?x64xbf16>, %m: i64) {
  // CHECK: tenon.launch @kernels::@k blocks(%{{.*}}) threads(%{{.*}}){{$}}
  tenon.launch @kernels::@k blocks(%n) threads(%n)
  // CHECK: shared(%{{.*}}) args(%{{.*}} : memref<?x64xbf16>, %{{.*}} : i64) {persistent = 192 : i64}
  tenon.launch @kernels::@k blocks(%n) threads(%n) shared(%bytes) args(%x : memref<?x64xbf16>, %m : i64) {persistent = 192}
  // CHECK: {cluster = 2 : i64, persistent = 192 : i64, waits_itself}
  tenon.launch @kernels::@k blocks(%n) threads(%n) {persistent = 192, cluster = 2, waits_itself}
  // CHECK: {persistent = 192 : i64, resident = 192 : i64}
  tenon.launch @kernels::@k blocks(%n) threads(%n) {persistent = 192, resident = 192}
  // CHECK: {tensor_maps = [#tenon.tensor_map<box = 128x64, swizzle = 128>, #tenon.tensor_map<box = 256x8, swizzle = 32, rounds_tf32 = true>]}
  tenon.launch @kernels::@k blocks(%n) threads(%n)
      {tensor_maps = [#tenon.tensor_map<box = 128x64, swizzle = 128, rounds_tf32 = false>,
                      #tenon.tensor_map<box = 256x8, swizzle = 32, rounds_tf32 = true>]}
  return
}

// -----

// launch-C1
func.func @persistent_zero(%n: index) {
  // expected-error @below {{attribute 'persistent' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  tenon.launch @kernels::@k blocks(%n) threads(%n) {persistent = 0}
  return
}

// -----

// launch-C2
func.func @maps_of_strategies(%n: index) {
  // expected-error @below {{attribute 'tensor_maps' failed to satisfy constraint: an array of #tenon.tensor_map}}
  tenon.launch @kernels::@k blocks(%n) threads(%n) {tensor_maps = [#tenon.strategy<tiled>]}
  return
}

// -----

// launch-C2: none
func.func @maps_none(%n: index) {
  // expected-error @below {{attribute 'tensor_maps' failed to satisfy constraint}}
  tenon.launch @kernels::@k blocks(%n) threads(%n) {tensor_maps = []}
  return
}

// -----

// launch-C3
func.func @cluster_not_persistent(%n: index) {
  // expected-error @below {{'tenon.launch' op 'cluster' is for persistent launches; give it 'persistent' too}}
  tenon.launch @kernels::@k blocks(%n) threads(%n) {cluster = 2}
  return
}

// -----

// launch-C3
func.func @resident_not_persistent(%n: index) {
  // expected-error @below {{'tenon.launch' op 'resident' is for persistent launches; give it 'persistent' too}}
  tenon.launch @kernels::@k blocks(%n) threads(%n) {resident = 8}
  return
}

// -----

// launch-C4
func.func @cluster_large(%n: index) {
  // expected-error @below {{attribute 'cluster' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 1 whose maximum value is 8}}
  tenon.launch @kernels::@k blocks(%n) threads(%n) {persistent = 192, cluster = 16}
  return
}

// -----

// launch-C4: more than there are
func.func @cluster_beyond_persistent(%n: index) {
  // expected-error @below {{'tenon.launch' op 'cluster' must be at most 'persistent', 1, but is 2}}
  tenon.launch @kernels::@k blocks(%n) threads(%n) {persistent = 1, cluster = 2}
  return
}

// -----

// launch-C5
func.func @resident_beyond(%n: index) {
  // expected-error @below {{'tenon.launch' op 'resident' must be at most 'persistent', 192, but is 193}}
  tenon.launch @kernels::@k blocks(%n) threads(%n) {persistent = 192, resident = 193}
  return
}
