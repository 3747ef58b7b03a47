// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// split-C1
func.func @tensor_to_memrefs(%x: tensor<4x20xf32>, %h: memref<4x24xf16>, %f: memref<4x1xf32>) {
  // expected-error @below {{takes tensors and gives tensors, or takes memrefs and writes to memrefs: operands are ('tensor<4x20xf32>', 'memref<4x24xf16>', 'memref<4x1xf32>'), results ()}}
  tenon.split %x outs(%h, %f) : (tensor<4x20xf32>, memref<4x24xf16>, memref<4x1xf32>) -> ()
  return
}

// -----

// split-C1: memrefs without outs
func.func @no_outs(%x: memref<4x20xf32>) {
  // expected-error @below {{takes tensors and gives tensors, or takes memrefs and writes to memrefs: operands are ('memref<4x20xf32>'), results ()}}
  tenon.split %x : (memref<4x20xf32>) -> ()
  return
}

// -----

// split-C1: a memref beside a tensor
func.func @tensor_output(%x: memref<4x20xf32>, %h: memref<4x24xf16>, %f: tensor<4x1xf32>) {
  // expected-error @below {{takes tensors and gives tensors, or takes memrefs and writes to memrefs}}
  tenon.split %x outs(%h, %f) : (memref<4x20xf32>, memref<4x24xf16>, tensor<4x1xf32>) -> ()
  return
}

// -----

// split-C1: both results and outs
func.func @results_and_outs(%x: tensor<4x20xf32>, %h: tensor<4x24xf16>, %f: tensor<4x1xf32>) {
  // expected-error @below {{takes tensors and gives tensors, or takes memrefs and writes to memrefs}}
  %0:2 = tenon.split %x outs(%h, %f) : (tensor<4x20xf32>, tensor<4x24xf16>, tensor<4x1xf32>) -> (tensor<4x24xf16>, tensor<4x1xf32>)
  return
}

// -----

// split-C1: results on memrefs
func.func @results_on_memrefs(%x: memref<4x20xf32>) {
  // expected-error @below {{on memrefs gives no results, but has ('tensor<4x24xf16>', 'tensor<4x1xf32>')}}
  %0:2 = tenon.split %x : (memref<4x20xf32>) -> (tensor<4x24xf16>, tensor<4x1xf32>)
  return
}

// -----

// split-C2
func.func @rank(%x: tensor<20xf32>) {
  // expected-error @below {{splits x [M, K] of f32, with K from 1 to 33554432, but x is 'tensor<20xf32>'}}
  %0:2 = tenon.split %x : (tensor<20xf32>) -> (tensor<24xf16>, tensor<1xf32>)
  return
}

// -----

// split-C2: the element type
func.func @element_type(%x: tensor<4x20xf64>) {
  // expected-error @below {{splits x [M, K] of f32, with K from 1 to 33554432, but x is 'tensor<4x20xf64>'}}
  %0:2 = tenon.split %x : (tensor<4x20xf64>) -> (tensor<4x24xf16>, tensor<4x1xf32>)
  return
}

// -----

// split-C2: K unknown
func.func @dynamic_k(%x: memref<4x?xf32>, %h: memref<4x24xf16>, %f: memref<4x1xf32>) {
  // expected-error @below {{splits x [M, K] of f32, with K from 1 to 33554432, but x is 'memref<4x?xf32>'}}
  tenon.split %x outs(%h, %f) : (memref<4x?xf32>, memref<4x24xf16>, memref<4x1xf32>) -> ()
  return
}

// -----

// split-C2: no column
func.func @no_column(%x: memref<4x0xf32>, %h: memref<4x0xf16>, %f: memref<4x1xf32>) {
  // expected-error @below {{splits x [M, K] of f32, with K from 1 to 33554432, but x is 'memref<4x0xf32>'}}
  tenon.split %x outs(%h, %f) : (memref<4x0xf32>, memref<4x0xf16>, memref<4x1xf32>) -> ()
  return
}

// -----

// split-C2: the largest K
func.func @many_columns(%x: tensor<1x33554433xf32>, %y: tensor<1x33554432xf32>) {
  %0:2 = tenon.split %y : (tensor<1x33554432xf32>) -> (tensor<1x33554432xf16>, tensor<1x1xf32>)
  // expected-error @below {{splits x [M, K] of f32, with K from 1 to 33554432, but x is 'tensor<1x33554433xf32>'}}
  %1:2 = tenon.split %x : (tensor<1x33554433xf32>) -> (tensor<1x33554440xf16>, tensor<1x1xf32>)
  return
}

// -----

// split-C3
func.func @one_result(%x: tensor<4x20xf32>) {
  // expected-error @below {{gives halves and factors, but has ('tensor<4x24xf16>')}}
  %0 = tenon.split %x : (tensor<4x20xf32>) -> tensor<4x24xf16>
  return
}

// -----

// split-C3: three outs
func.func @three_outs(%x: memref<4x20xf32>, %h: memref<4x24xf16>, %f: memref<4x1xf32>) {
  // expected-error @below {{gives halves and factors, but has ('memref<4x24xf16>', 'memref<4x1xf32>', 'memref<4x1xf32>')}}
  tenon.split %x outs(%h, %f, %f) : (memref<4x20xf32>, memref<4x24xf16>, memref<4x1xf32>, memref<4x1xf32>) -> ()
  return
}

// -----

// split-C3: columns of halves
func.func @columns(%x: tensor<4x20xf32>) {
  // expected-error @below {{gives halves of f16, [M, 24] in one part or [M, 64] in two, of 'tensor<4x20xf32>', but they are 'tensor<4x20xf16>'}}
  %0:2 = tenon.split %x : (tensor<4x20xf32>) -> (tensor<4x20xf16>, tensor<4x1xf32>)
  return
}

// -----

// split-C3: the type of halves
func.func @halves_type(%x: tensor<4x20xf32>) {
  // expected-error @below {{in two, of 'tensor<4x20xf32>', but they are 'tensor<4x24xbf16>'}}
  %0:2 = tenon.split %x : (tensor<4x20xf32>) -> (tensor<4x24xbf16>, tensor<4x1xf32>)
  return
}

// -----

// split-C3: M of halves
func.func @halves_m(%x: tensor<?x20xf32>) {
  // expected-error @below {{in two, of 'tensor<?x20xf32>', but they are 'tensor<4x24xf16>'}}
  %0:2 = tenon.split %x : (tensor<?x20xf32>) -> (tensor<4x24xf16>, tensor<?x1xf32>)
  return
}

// -----

// split-C3: the rank of halves
func.func @halves_rank(%x: tensor<4x20xf32>) {
  // expected-error @below {{in two, of 'tensor<4x20xf32>', but they are 'tensor<24xf16>'}}
  %0:2 = tenon.split %x : (tensor<4x20xf32>) -> (tensor<24xf16>, tensor<4x1xf32>)
  return
}

// -----

// split-C4
func.func @factors_shape(%x: tensor<4x20xf32>) {
  // expected-error @below {{gives factors of f32, [M, 1], of 'tensor<4x20xf32>', but they are 'tensor<4xf32>'}}
  %0:2 = tenon.split %x : (tensor<4x20xf32>) -> (tensor<4x24xf16>, tensor<4xf32>)
  return
}

// -----

// split-C4: their type
func.func @factors_type(%x: tensor<4x20xf32>) {
  // expected-error @below {{gives factors of f32, [M, 1], of 'tensor<4x20xf32>', but they are 'tensor<4x1xf16>'}}
  %0:2 = tenon.split %x : (tensor<4x20xf32>) -> (tensor<4x24xf16>, tensor<4x1xf16>)
  return
}
