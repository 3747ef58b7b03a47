// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @mixed(%a: tensor<4x8xf32>, %o: memref<4x8xf32>) {
  // expected-error @below {{takes tensors or memrefs, not both: operands are ('tensor<4x8xf32>', 'memref<4x8xf32>')}}
  tenon.epilogue ins(%x = %a: tensor<4x8xf32>) outs(%o: memref<4x8xf32>) {
    tenon.yield %x : tensor<4x8xf32>
  }
  return
}

// -----

func.func @no_output(%a: memref<4x8xf32>) {
  // expected-error @below {{needs at least one output}}
  tenon.epilogue ins(%x = %a: memref<4x8xf32>) outs() {
    tenon.yield
  }
  return
}

// -----

func.func @result_type(%a: tensor<4x8xf32>) {
  // expected-error @below {{gives its outputs' types: expected ('tensor<4x8xf32>'), but has ()}}
  tenon.epilogue ins(%x = %a: tensor<4x8xf32>) outs(%a: tensor<4x8xf32>) {
    tenon.yield %x : tensor<4x8xf32>
  }
  return
}

// -----

func.func @result_on_memrefs(%a: memref<4x8xf32>) {
  // expected-error @below {{on memrefs gives no results, but has ('tensor<4x8xf32>')}}
  %0 = tenon.epilogue ins(%x = %a: memref<4x8xf32>) outs(%a: memref<4x8xf32>) -> tensor<4x8xf32> {
    tenon.yield %x : tensor<4x8xf32>
  }
  return
}

// -----

func.func @not_an_epilogue_op(%a: memref<4x8xf32>, %w: memref<8x8xf32>) {
  tenon.epilogue ins(%x = %a: memref<4x8xf32>, %y = %w: memref<8x8xf32>) outs(%a: memref<4x8xf32>) {
    // expected-error @below {{cannot be in an epilogue: it is neither elementwise, nor a reduction of the tenon dialect, nor a splat constant}}
    %0 = tenon.linear %x, %y : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    tenon.yield %0 : tensor<4x8xf32>
  }
  return
}

// -----

func.func @yield(%a: memref<4x8xf32>, %o: memref<8xf32>) {
  tenon.epilogue ins(%x = %a: memref<4x8xf32>) outs(%o: memref<8xf32>) {
    // expected-error @below {{must give one value for each output: expected ('tensor<8xf32>'), but yields ('tensor<4x8xf32>')}}
    tenon.yield %x : tensor<4x8xf32>
  }
  return
}

// -----

func.func @not_shaped(%a: f32, %o: memref<8xf32>) {
  // expected-error @below {{expected a ranked tensor or memref, but got 'f32'}}
  tenon.epilogue ins(%x = %a: f32) outs(%o: memref<8xf32>) {
    tenon.yield %x : f32
  }
  return
}

// -----

func.func @argument(%a: memref<4x8xf32>) {
  // expected-error @below {{argument #0 stands for an input of type 'memref<4x8xf32>', but is 'tensor<4x4xf32>'}}
  "tenon.epilogue"(%a, %a) <{operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%x: tensor<4x4xf32>):
    "tenon.yield"(%x) : (tensor<4x4xf32>) -> ()
  }) : (memref<4x8xf32>, memref<4x8xf32>) -> ()
  return
}

// -----

func.func @argument_count(%a: memref<4x8xf32>) {
  // expected-error @below {{region must take one argument for each input: expected 1, but it has 0}}
  "tenon.epilogue"(%a, %a) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    "tenon.yield"() : () -> ()
  }) : (memref<4x8xf32>, memref<4x8xf32>) -> ()
  return
}
