// What the predicted times come to. Each layer is asked about for an Ampere GPU, for Hopper with
// kernels of family mma_sync, and for both. wgmma.mlir has kernels of that family.
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_80 --remarks-filter=tenon-select-strategy -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SM80
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_90 --remarks-filter=tenon-select-strategy -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SM90
// RUN: tenon-opt %s --tenon-select-strategy=targets=sm_80,sm_90a --remarks-filter=tenon-select-strategy -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BOTH
// RUN: tenon-opt %s --tenon-select-strategy | FileCheck %s --check-prefix=NONE

// Without targets nothing is chosen.
// NONE-NOT: tenon.strategy

// A bare product is what a library is best at.
// SM80: Function=bare {{.*}}sm_80: 4.74 waves{{.*}}Remark="library: tiled is not predicted much faster on every target"
// SM90: Function=bare {{.*}}sm_90: 3.88 waves{{.*}}Remark="library: on sm_90 the library multiplies with a faster instruction than mma.sync"
// BOTH: Function=bare {{.*}}sm_80: 4.74 waves, {{.*}}, sm_90a: 3.88 waves{{.*}}Remark="library: on sm_90a the library multiplies with a faster instruction than mma.sync"
func.func @bare(%x: tensor<4096x4096xf16>, %w: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %0 = tenon.linear %x, %w : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
  return %0 : tensor<4096x4096xf16>
}

// An epilogue that cuBLASLt has is as good as none.
// SM80: Function=library_epilogue {{.*}}M = 16384{{.*}}Remark="library: tiled is not predicted much faster on every target"
// SM90: Function=library_epilogue {{.*}}M = 16384{{.*}}Remark="library: on sm_90 the library multiplies with a faster instruction than mma.sync"
// BOTH: Function=library_epilogue {{.*}}M = 16384{{.*}}Remark="library: on sm_90a the library multiplies with a faster instruction than mma.sync"
func.func @library_epilogue(%x: tensor<16384x4096xf16>, %w: tensor<4096x4096xf16>, %b: tensor<4096xf16>) -> tensor<16384x4096xf16> {
  %0 = tenon.fused_linear %x, %w : tensor<16384x4096xf16>, tensor<4096x4096xf16>
      epilogue(%acc: tensor<16384x4096xf16>, %b_ = %b: tensor<4096xf16>) -> tensor<16384x4096xf16> {
    %1 = tenon.add %acc, %b_ : tensor<16384x4096xf16>, tensor<4096xf16>
    %2 = tenon.relu %1 : tensor<16384x4096xf16>
    tenon.yield %2 : tensor<16384x4096xf16>
  }
  return %0 : tensor<16384x4096xf16>
}

// One that it has not costs the library a pass over the product.
// SM80: Function=own_epilogue {{.*}}M = 16384{{.*}}Remark="tiled: predicted much faster on every target"
// SM90: Function=own_epilogue {{.*}}M = 16384{{.*}}Remark="library: on sm_90 the library multiplies with a faster instruction than mma.sync"
// BOTH: Function=own_epilogue {{.*}}M = 16384{{.*}}Remark="library: on sm_90a the library multiplies with a faster instruction than mma.sync"
func.func @own_epilogue(%x: tensor<16384x1024xf16>, %w: tensor<4096x1024xf16>) -> tensor<16384x4096xf16> {
  %0 = tenon.fused_linear %x, %w : tensor<16384x1024xf16>, tensor<4096x1024xf16>
      epilogue(%acc: tensor<16384x4096xf16>) -> tensor<16384x4096xf16> {
    %1 = tenon.leaky_relu %acc : tensor<16384x4096xf16>
    tenon.yield %1 : tensor<16384x4096xf16>
  }
  return %0 : tensor<16384x4096xf16>
}

// Both read w at the rate of memory; what a tiled kernel saves it takes for its start. On Hopper more stages were
// measured faster than the library.
// SM80: Function=one_row {{.*}}tiles of 16x128x64, stream_k, 4 stages{{.*}}Remark="library: tiled is not predicted much faster on every target"
// SM90: Function=one_row {{.*}}tiles of 16x128x64, stream_k, 6 stages{{.*}}Remark="tiled: predicted much faster on every target"
// BOTH: Function=one_row {{.*}}tiles of 16x128x64, stream_k, 4 stages{{.*}}Remark="library: tiled is not predicted much faster on every target"
func.func @one_row(%x: tensor<1x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<1x4096xbf16> {
  %0 = tenon.fused_linear %x, %w : tensor<1x4096xbf16>, tensor<4096x4096xbf16>
      epilogue(%acc: tensor<1x4096xbf16>) -> tensor<1x4096xbf16> {
    %1 = tenon.silu %acc : tensor<1x4096xbf16>
    tenon.yield %1 : tensor<1x4096xbf16>
  }
  return %0 : tensor<1x4096xbf16>
}

// A dynamic batch is taken for 1024 rows.
// SM80: Function=dynamic {{.*}}"mma_sync fp16, tiles of {{.*}}stream_k, {{.*}}; M = 1024 (dynamic), sm_{{.*}}Remark="tiled: predicted much faster on every target"
// SM90: Function=dynamic {{.*}}"mma_sync fp16, tiles of {{.*}}stream_k, {{.*}}; M = 1024 (dynamic), sm_{{.*}}Remark="tiled: predicted much faster on every target"
// BOTH: Function=dynamic {{.*}}"mma_sync fp16, tiles of {{.*}}stream_k, {{.*}}; M = 1024 (dynamic), sm_{{.*}}Remark="tiled: predicted much faster on every target"
func.func @dynamic(%x: tensor<?x8192xf32>, %w: tensor<8192x8192xf32> {tenon.param}) -> tensor<?x8192xf32> {
  %0 = tenon.linear %x, %w precision<tf32> : (tensor<?x8192xf32>, tensor<8192x8192xf32>) -> tensor<?x8192xf32>
  return %0 : tensor<?x8192xf32>
}

// What depends on parameters alone is split once a version of them, which costs nothing in a call.
// SM80: Function=parameters {{.*}}"mma_sync fp16, {{.*}}M = 64,{{.*}}Remark="tiled: predicted much faster on every target"
// SM90: Function=parameters {{.*}}"mma_sync fp16, {{.*}}M = 64,{{.*}}Remark="tiled: predicted much faster on every target"
// BOTH: Function=parameters {{.*}}"mma_sync fp16, {{.*}}M = 64,{{.*}}Remark="tiled: predicted much faster on every target"
func.func @parameters(%x: tensor<64x1024xf32>, %w: tensor<16384x1024xf32> {tenon.param}, %s: tensor<16384x1xf32> {tenon.param}) -> tensor<64x16384xf32> {
  %scaled = tenon.mul %w, %s : tensor<16384x1024xf32>, tensor<16384x1xf32>
  %0 = tenon.fused_linear %x, %scaled precision<tf32> : tensor<64x1024xf32>, tensor<16384x1024xf32>
      epilogue(%acc: tensor<64x16384xf32>) -> tensor<64x16384xf32> {
    %1 = tenon.leaky_relu %acc : tensor<64x16384xf32>
    tenon.yield %1 : tensor<64x16384xf32>
  }
  return %0 : tensor<64x16384xf32>
}

// x is split in each call, by one more kernel, and few rows take a clear lead.
// SM80: Function=x_of_the_call {{.*}}M = 16,{{.*}}Remark="library: tiled is not predicted much faster on every target"
// SM90: Function=x_of_the_call {{.*}}M = 16,{{.*}}Remark="library: tiled is not predicted much faster on every target"
// BOTH: Function=x_of_the_call {{.*}}M = 16,{{.*}}Remark="library: tiled is not predicted much faster on every target"
func.func @x_of_the_call(%x: tensor<16x4096xf32>, %w: tensor<4096x4096xf32> {tenon.param}) -> tensor<16x4096xf32> {
  %0 = tenon.fused_linear %x, %w precision<tf32> : tensor<16x4096xf32>, tensor<4096x4096xf32>
      epilogue(%acc: tensor<16x4096xf32>) -> tensor<16x4096xf32> {
    %1 = tenon.leaky_relu %acc : tensor<16x4096xf32>
    tenon.yield %1 : tensor<16x4096xf32>
  }
  return %0 : tensor<16x4096xf32>
}

// So is an x that another layer computes. SGEMM takes long for few rows.
// SM80: Function=x_of_a_layer {{.*}}"mma_sync fp16x3, {{.*}}Remark="tiled: predicted much faster on every target"
// SM80: Function=x_of_a_layer {{.*}}"mma_sync fp16, {{.*}}M = 16,{{.*}}Remark="library: tiled is not predicted much faster on every target"
// SM90: Function=x_of_a_layer {{.*}}"mma_sync fp16x3, {{.*}}Remark="tiled: predicted much faster on every target"
// SM90: Function=x_of_a_layer {{.*}}"mma_sync fp16, {{.*}}M = 16,{{.*}}Remark="library: tiled is not predicted much faster on every target"
// BOTH: Function=x_of_a_layer {{.*}}"mma_sync fp16x3, {{.*}}Remark="tiled: predicted much faster on every target"
// BOTH: Function=x_of_a_layer {{.*}}"mma_sync fp16, {{.*}}M = 16,{{.*}}Remark="library: tiled is not predicted much faster on every target"
func.func @x_of_a_layer(%x: tensor<16x4096xf32>, %w: tensor<4096x4096xf32> {tenon.param}) -> tensor<16x4096xf32> {
  %0 = tenon.linear %x, %w : (tensor<16x4096xf32>, tensor<4096x4096xf32>) -> tensor<16x4096xf32>
  %1 = tenon.fused_linear %0, %w precision<tf32> : tensor<16x4096xf32>, tensor<4096x4096xf32>
      epilogue(%acc: tensor<16x4096xf32>) -> tensor<16x4096xf32> {
    %2 = tenon.leaky_relu %acc : tensor<16x4096xf32>
    tenon.yield %2 : tensor<16x4096xf32>
  }
  return %1 : tensor<16x4096xf32>
}

// Products and memory take about as long, half of the multiprocessors' places are empty, and the largest tile is best
// nevertheless, as measured on an H200 (benchmarks/results/sm80_few_rows.json).
// SM90: Function=few_rows {{.*}}tiles of 128x256x64, {{.*}}M = 128, sm_90: 0.48 waves
func.func @few_rows(%x: tensor<128x16384xbf16>, %w: tensor<16384x16384xbf16>) -> tensor<128x16384xbf16> {
  %0 = tenon.linear %x, %w : (tensor<128x16384xbf16>, tensor<16384x16384xbf16>) -> tensor<128x16384xbf16>
  return %0 : tensor<128x16384xbf16>
}

// Weights that change with each call are split in each, which is not worth it.
// SM80: Function=weights_of_the_call {{.*}}M = 64,{{.*}}Remark="library: tiled is not predicted much faster on every target"
// SM90: Function=weights_of_the_call {{.*}}M = 64,{{.*}}Remark="library: tiled is not predicted much faster on every target"
// BOTH: Function=weights_of_the_call {{.*}}M = 64,{{.*}}Remark="library: tiled is not predicted much faster on every target"
func.func @weights_of_the_call(%x: tensor<64x1024xf32>, %w: tensor<16384x1024xf32>) -> tensor<64x16384xf32> {
  %0 = tenon.fused_linear %x, %w precision<tf32> : tensor<64x1024xf32>, tensor<16384x1024xf32>
      epilogue(%acc: tensor<64x16384xf32>) -> tensor<64x16384xf32> {
    %1 = tenon.leaky_relu %acc : tensor<64x16384xf32>
    tenon.yield %1 : tensor<64x16384xf32>
  }
  return %0 : tensor<64x16384xf32>
}

// Stream-K is there for full waves too: the kernel sees at the launch that it has nothing to divide.
// SM80: Function=full_waves {{.*}}stream_k, {{.*}}; M = 13824, sm_80: 16.00 waves{{.*}}Remark="tiled: predicted much faster on every target"
// SM90: Function=full_waves {{.*}}stream_k, {{.*}}; M = 13824, sm_90: 13.09 waves{{.*}}Remark="library: on sm_90 the library multiplies with a faster instruction than mma.sync"
// BOTH: Function=full_waves {{.*}}stream_k, {{.*}}; M = 13824, sm_80: 16.00 waves{{.*}}Remark="library: on sm_90a the library multiplies with a faster instruction than mma.sync"
func.func @full_waves(%x: tensor<13824x1024xf16>, %w: tensor<4096x1024xf16>) -> tensor<13824x4096xf16> {
  %0 = tenon.fused_linear %x, %w : tensor<13824x1024xf16>, tensor<4096x1024xf16>
      epilogue(%acc: tensor<13824x4096xf16>) -> tensor<13824x4096xf16> {
    %1 = tenon.leaky_relu %acc : tensor<13824x4096xf16>
    tenon.yield %1 : tensor<13824x4096xf16>
  }
  return %0 : tensor<13824x4096xf16>
}
