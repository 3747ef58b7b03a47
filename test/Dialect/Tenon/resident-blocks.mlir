// RUN: tenon-opt %s --split-input-file --verify-diagnostics | tenon-opt --split-input-file | FileCheck %s

// CHECK-LABEL: @ask
// CHECK: tenon.resident_blocks @kernels::@k {cluster_blocks = 2 : i64, shared_bytes = 1024 : i64, threads = 384 : i64}
func.func @ask() -> i64 {
  %blocks = tenon.resident_blocks @kernels::@k {cluster_blocks = 2 : i64, shared_bytes = 1024 : i64, threads = 384 : i64}
  return %blocks : i64
}

// -----

func.func @threads() -> i64 {
  // expected-error @below {{'tenon.resident_blocks' op attribute 'threads' failed to satisfy constraint}}
  %blocks = tenon.resident_blocks @kernels::@k {cluster_blocks = 2 : i64, shared_bytes = 1024 : i64, threads = 0 : i64}
  return %blocks : i64
}

// -----

func.func @shared_bytes() -> i64 {
  // expected-error @below {{'tenon.resident_blocks' op attribute 'shared_bytes' failed to satisfy constraint}}
  %blocks = tenon.resident_blocks @kernels::@k {cluster_blocks = 2 : i64, shared_bytes = -1 : i64, threads = 1 : i64}
  return %blocks : i64
}

// -----

func.func @cluster() -> i64 {
  // expected-error @below {{'tenon.resident_blocks' op attribute 'cluster_blocks' failed to satisfy constraint}}
  %blocks = tenon.resident_blocks @kernels::@k {cluster_blocks = 9 : i64, shared_bytes = 0 : i64, threads = 1 : i64}
  return %blocks : i64
}
