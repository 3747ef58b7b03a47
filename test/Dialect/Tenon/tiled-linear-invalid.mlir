// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @mixed(%x: tensor<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{takes tensors or memrefs, not both: operands are ('tensor<4x64xf16>', 'memref<8x64xf16>', 'memref<4x8xf16>')}}
  tenon.tiled_linear %x, %w : tensor<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @no_output(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{needs at least one output}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs()
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield
  }
  return
}

// -----

func.func @result_type(%x: tensor<4x64xf16>, %w: tensor<8x64xf16>, %o: tensor<4x8xf16>) {
  // expected-error @below {{gives its outputs' types: expected ('tensor<4x8xf16>'), but has ()}}
  tenon.tiled_linear %x, %w : tensor<4x64xf16>, tensor<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: tensor<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @result_on_memrefs(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{on memrefs gives no results, but has ('tensor<4x8xf16>')}}
  %0 = tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> -> tensor<4x8xf16> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @f64(%x: memref<4x64xf64>, %w: memref<8x64xf64>, %o: memref<4x8xf64>) {
  // expected-error @below {{multiplies x and w of one element type other than f64, but x is 'memref<4x64xf64>' and w is 'memref<8x64xf64>'}}
  tenon.tiled_linear %x, %w : memref<4x64xf64>, memref<8x64xf64>
      epilogue(%acc: tensor<4x8xf64>) outs(%o: memref<4x8xf64>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf64>
  }
  return
}

// -----

func.func @element_types(%x: memref<4x64xf16>, %w: memref<8x64xbf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{multiplies x and w of one element type other than f64, but x is 'memref<4x64xf16>' and w is 'memref<8x64xbf16>'}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xbf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @k(%x: memref<4x64xf16>, %w: memref<8x32xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{needs x [M, K] and w [N, K], with N and K known and one K, but x is 'memref<4x64xf16>' and w is 'memref<8x32xf16>'}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x32xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @rank_of_x(%x: memref<64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{needs x [M, K] and w [N, K], with N and K known and one K, but x is 'memref<64xf16>' and w is 'memref<8x64xf16>'}}
  tenon.tiled_linear %x, %w : memref<64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @rank_of_w(%x: memref<4x64xf16>, %w: memref<64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{needs x [M, K] and w [N, K], with N and K known and one K, but x is 'memref<4x64xf16>' and w is 'memref<64xf16>'}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @dynamic_n(%x: memref<4x64xf16>, %w: memref<?x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{needs x [M, K] and w [N, K], with N and K known and one K, but x is 'memref<4x64xf16>' and w is 'memref<?x64xf16>'}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<?x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @no_workspace(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{needs a workspace exactly where its schedule has stream_k or reduction = resident or resident_rows, but has none with either}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @workspace(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>, %ws: memref<64xi8>) {
  // expected-error @below {{needs a workspace exactly where its schedule has stream_k or reduction = resident or resident_rows, but has one without either}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>) workspace(%ws: memref<64xi8>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @product_shape(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{the product argument must be [M, N] of x's element type or f32: expected 'tensor<4x8xf16>', but it is 'tensor<8x4xf16>'}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<8x4xf16>) outs(%o: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<8x4xf16>
  }
  return
}

// -----

func.func @product_type(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{the product argument must be [M, N] of x's element type or f32: expected 'tensor<4x8xf16>', but it is 'tensor<4x8xbf16>'}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xbf16>) outs(%o: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xbf16>
  }
  return
}

// -----

func.func @argument_count(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{region must take the product and one argument for each input: expected 1 arguments, but it has 0}}
  "tenon.tiled_linear"(%x, %w, %o) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 1, 0>, schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>}> ({
    "tenon.yield"() : () -> ()
  }) : (memref<4x64xf16>, memref<8x64xf16>, memref<4x8xf16>) -> ()
  return
}

// -----

func.func @argument(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  // expected-error @below {{argument #1 stands for an input of type 'memref<4x8xf16>', but is 'tensor<8xf16>'}}
  "tenon.tiled_linear"(%x, %w, %o, %o) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 1, 1, 0>, schedule = #tenon.schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1>}> ({
  ^bb0(%acc: tensor<4x8xf16>, %r: tensor<8xf16>):
    "tenon.yield"(%acc) : (tensor<4x8xf16>) -> ()
  }) : (memref<4x64xf16>, memref<8x64xf16>, memref<4x8xf16>, memref<4x8xf16>) -> ()
  return
}

// -----

func.func @reduction(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>, %s: memref<8xf16>) {
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>, %m = %s: memref<8xf16>) outs(%o: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    // expected-error @below {{needs a schedule with reduction = resident, but it has separate}}
    %0:3 = tenon.batch_norm_training %acc running(%m, %m)
        : (tensor<4x8xf16>, tensor<8xf16>, tensor<8xf16>) -> (tensor<4x8xf16>, tensor<8xf16>, tensor<8xf16>)
    tenon.yield %0#0 : tensor<4x8xf16>
  }
  return
}

// -----

func.func @batch_moments(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>, %s: memref<8xf32>) {
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>, %s: memref<8xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase> {
    // expected-error @below {{needs all rows and maps none: a tenon.tiled_linear yields tenon.moments, and a tenon.epilogue combines them}}
    %0, %1 = tenon.batch_moments %acc : (tensor<4x8xf16>) -> (tensor<8xf32>, tensor<8xf32>)
    tenon.yield %acc, %0 : tensor<4x8xf16>, tensor<8xf32>
  }
  return
}

// -----

func.func @other_dialect(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    // expected-error @below {{cannot be in a tiled epilogue: it is neither an elementwise op of the tenon dialect, nor a reduction of it, nor a splat constant}}
    %0 = math.exp %acc : tensor<4x8xf16>
    tenon.yield %0 : tensor<4x8xf16>
  }
  return
}

// -----

func.func @not_a_splat(%x: memref<2x64xf16>, %w: memref<1x64xf16>, %o: memref<2x1xf16>) {
  tenon.tiled_linear %x, %w : memref<2x64xf16>, memref<1x64xf16>
      epilogue(%acc: tensor<2x1xf16>) outs(%o: memref<2x1xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    // expected-error @below {{cannot be in a tiled epilogue: it is neither an elementwise op of the tenon dialect, nor a reduction of it, nor a splat constant}}
    %0 = arith.constant dense<[[1.0], [2.0]]> : tensor<2x1xf16>
    tenon.yield %0 : tensor<2x1xf16>
  }
  return
}

// -----

func.func @output_shape(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<8xf16>) {
  // expected-error @below {{writes outputs of the product's shape, 'tensor<4x8xf16>', but one is 'memref<8xf16>'}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>, %b = %o: memref<8xf16>) outs(%o: memref<8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %b : tensor<8xf16>
  }
  return
}

// -----

func.func @yield(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf32>) {
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    // expected-error @below {{must give one value for each output: expected ('tensor<4x8xf32>'), but yields ('tensor<4x8xf16>')}}
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @not_shaped(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>, %s: f32) {
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      // expected-error @below {{expected a ranked tensor or memref, but got 'f32'}}
      epilogue(%acc: tensor<4x8xf16>, %a = %s: f32) outs(%o: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @no_schedule(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      // expected-error @below {{expected 'schedule'}}
      {
    tenon.yield %acc : tensor<4x8xf16>
  }
  return
}

// -----

func.func @halves_of_f32(%x: memref<4x64xf32>, %w: memref<8x64xf32>, %fx: memref<4x1xf32>, %fw: memref<8x1xf32>, %o: memref<4x8xf32>) {
  // expected-error @below {{method fp16x3 multiplies the f16 halves of tenon.split, but x is 'memref<4x64xf32>'}}
  tenon.tiled_linear %x, %w : memref<4x64xf32>, memref<8x64xf32>
      factors(%fx, %fw : memref<4x1xf32>, memref<8x1xf32>)
      epilogue(%acc: tensor<4x8xf32>) outs(%o: memref<4x8xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}

// -----

func.func @halves_of_other_columns(%x: memref<4x120xf16>, %w: memref<8x120xf16>, %fx: memref<4x1xf32>, %fw: memref<8x1xf32>, %o: memref<4x8xf32>) {
  // expected-error @below {{method fp16x3 multiplies halves in two parts, of which tenon.split gives a multiple of 64 columns, but they have 120}}
  tenon.tiled_linear %x, %w : memref<4x120xf16>, memref<8x120xf16>
      factors(%fx, %fw : memref<4x1xf32>, memref<8x1xf32>)
      epilogue(%acc: tensor<4x8xf32>) outs(%o: memref<4x8xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}

// -----

func.func @halves_of_bf16(%x: memref<4x64xbf16>, %w: memref<8x64xbf16>, %fx: memref<4x1xf32>, %fw: memref<8x1xf32>, %o: memref<4x8xf32>) {
  // expected-error @below {{method fp16 multiplies the f16 halves of tenon.split, but x is 'memref<4x64xbf16>'}}
  tenon.tiled_linear %x, %w : memref<4x64xbf16>, memref<8x64xbf16>
      factors(%fx, %fw : memref<4x1xf32>, memref<8x1xf32>)
      epilogue(%acc: tensor<4x8xf32>) outs(%o: memref<4x8xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}

// -----

func.func @fma_of_f16(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf32>) {
  // expected-error @below {{method fma multiplies f32, but x is 'memref<4x64xf16>'}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf32>) outs(%o: memref<4x8xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fma> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}

// -----

func.func @no_factors(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf32>) {
  // expected-error @below {{method fp16x3 needs the factors of x's and of w's rows, but has 0 factors}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf32>) outs(%o: memref<4x8xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}

// -----

func.func @one_factor(%x: memref<4x64xf32>, %w: memref<8x64xf32>, %fx: memref<4x1xf32>, %o: memref<4x8xf32>) {
  // expected-error @below {{method direct needs the factors of x's and of w's rows, but has 1 factors}}
  tenon.tiled_linear %x, %w : memref<4x64xf32>, memref<8x64xf32>
      factors(%fx : memref<4x1xf32>)
      epilogue(%acc: tensor<4x8xf32>) outs(%o: memref<4x8xf32>)
      schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}

// -----

func.func @factors_swapped(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %fx: memref<8x1xf32>, %fw: memref<4x1xf32>, %o: memref<4x8xf32>) {
  // expected-error @below {{factors must be f32 [M, 1] and [N, 1], but are ('memref<8x1xf32>', 'memref<4x1xf32>')}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      factors(%fx, %fw : memref<8x1xf32>, memref<4x1xf32>)
      epilogue(%acc: tensor<4x8xf32>) outs(%o: memref<4x8xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}

// -----

func.func @factors_type(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %fx: memref<4x1xf32>, %fw: memref<8x1xf16>, %o: memref<4x8xf32>) {
  // expected-error @below {{factors must be f32 [M, 1] and [N, 1], but are ('memref<4x1xf32>', 'memref<8x1xf16>')}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      factors(%fx, %fw : memref<4x1xf32>, memref<8x1xf16>)
      epilogue(%acc: tensor<4x8xf32>) outs(%o: memref<4x8xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16x3> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}

// -----

func.func @factors_rank(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %fx: memref<4xf32>, %fw: memref<8xf32>, %o: memref<4x8xf32>) {
  // expected-error @below {{factors must be f32 [M, 1] and [N, 1], but are ('memref<4xf32>', 'memref<8xf32>')}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      factors(%fx, %fw : memref<4xf32>, memref<8xf32>)
      epilogue(%acc: tensor<4x8xf32>) outs(%o: memref<4x8xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}

// -----

func.func @factors_tensors(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %fx: tensor<4x1xf32>, %fw: tensor<8x1xf32>, %o: memref<4x8xf32>) {
  // expected-error @below {{takes tensors or memrefs, not both}}
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      factors(%fx, %fw : tensor<4x1xf32>, tensor<8x1xf32>)
      epilogue(%acc: tensor<4x8xf32>) outs(%o: memref<4x8xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, method = fp16> {
    tenon.yield %acc : tensor<4x8xf32>
  }
  return
}

// -----

func.func @moments_separate(%x: memref<?x64xbf16>, %w: memref<8x64xbf16>, %z: memref<?x8xbf16>, %m: memref<?x8xf32>) {
  tenon.tiled_linear %x, %w : memref<?x64xbf16>, memref<8x64xbf16>
      epilogue(%acc: tensor<?x8xbf16>) outs(%z: memref<?x8xbf16>, %m: memref<?x8xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    // expected-error @below {{needs a schedule with reduction = two_phase, but it has separate}}
    %0 = tenon.moments %acc {rows = 64} : tensor<?x8xbf16> -> tensor<?x8xf32>
    tenon.yield %acc, %0 : tensor<?x8xbf16>, tensor<?x8xf32>
  }
  return
}

// -----

func.func @moments_rows(%x: memref<?x64xbf16>, %w: memref<8x64xbf16>, %z: memref<?x8xbf16>, %m: memref<?x8xf32>) {
  tenon.tiled_linear %x, %w : memref<?x64xbf16>, memref<8x64xbf16>
      epilogue(%acc: tensor<?x8xbf16>) outs(%z: memref<?x8xbf16>, %m: memref<?x8xf32>)
      schedule<mma_sync, tile = 128x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase> {
    // expected-error @below {{must be of the rows that the schedule's kernel takes together, 128, but is of 64}}
    %0 = tenon.moments %acc {rows = 64} : tensor<?x8xbf16> -> tensor<?x8xf32>
    tenon.yield %acc, %0 : tensor<?x8xbf16>, tensor<?x8xf32>
  }
  return
}

// -----

// moments-C4
func.func @moments_not_stored(%x: memref<?x64xbf16>, %w: memref<8x64xbf16>, %z: memref<?x8xbf16>, %m: memref<?x8xf32>) {
  tenon.tiled_linear %x, %w : memref<?x64xbf16>, memref<8x64xbf16>
      epilogue(%acc: tensor<?x8xbf16>) outs(%z: memref<?x8xbf16>, %m: memref<?x8xf32>)
      schedule<wgmma, tile = 64x64x64, warps = 4x1, stages = 3, swizzle = 128, raster = 8, blocks = 1, reduction = two_phase> {
    %0 = tenon.relu %acc : tensor<?x8xbf16>
    // expected-error @below {{takes what the yield writes, but its input is not yielded}}
    %1 = tenon.moments %0 {rows = 64} : tensor<?x8xbf16> -> tensor<?x8xf32>
    tenon.yield %acc, %1 : tensor<?x8xbf16>, tensor<?x8xf32>
  }
  return
}

// -----

func.func @rows(%x: memref<4x64xf16>, %w: memref<8x64xf16>, %o: memref<4x8xf16>) {
  tenon.tiled_linear %x, %w : memref<4x64xf16>, memref<8x64xf16>
      epilogue(%acc: tensor<4x8xf16>) outs(%o: memref<4x8xf16>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1> {
    // expected-error @below {{needs a schedule with reduction = in_tile, reduce_only or resident_rows, but it has separate}}
    %0 = tenon.reduce_row max %acc : tensor<4x8xf16>
    %1 = tenon.sub %acc, %0 : tensor<4x8xf16>, tensor<4x1xf16>
    tenon.yield %1 : tensor<4x8xf16>
  }
  return
}

// -----

// row_parts-C1
func.func @parts_outside(%x: tensor<8x1xf32>) {
  // expected-error @below {{stands in a tenon.tiled_linear, whose yield alone uses it}}
  %0 = tenon.row_parts %x {columns = 64} : tensor<8x1xf32> -> tensor<8x2xf32>
  return
}

// -----

// row_parts-C2
func.func @parts_of_other_type(%x: tensor<8x64xf16>, %w: tensor<100x64xf16>, %0: tensor<8x1xf32>) -> tensor<8x1xf32> {
  %1 = tenon.tiled_linear %x, %w : tensor<8x64xf16>, tensor<100x64xf16>
      epilogue(%acc: tensor<8x100xf32>) outs(%0: tensor<8x1xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = reduce_only>
      -> tensor<8x1xf32> {
    %2 = tenon.reduce_row max %acc : tensor<8x100xf32>
    // expected-error @below {{gives 'tensor<8x2xf32>' of 'tensor<8x1xf32>' for each 64 of 100 columns, but is given 'tensor<8x1xf32>' and gives 'tensor<8x1xf32>'}}
    %3 = tenon.row_parts %2 {columns = 64} : tensor<8x1xf32> -> tensor<8x1xf32>
    tenon.yield %3 : tensor<8x1xf32>
  }
  return %1 : tensor<8x1xf32>
}

// -----

func.func @parts_of_other_columns(%x: tensor<8x64xf16>, %w: tensor<100x64xf16>, %0: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %1 = tenon.tiled_linear %x, %w : tensor<8x64xf16>, tensor<100x64xf16>
      epilogue(%acc: tensor<8x100xf32>) outs(%0: tensor<8x4xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = reduce_only>
      -> tensor<8x4xf32> {
    %2 = tenon.reduce_row max %acc : tensor<8x100xf32>
    // expected-error @below {{needs a schedule with reduction = reduce_only and a tile of as many columns, 32, but it has}}
    %3 = tenon.row_parts %2 {columns = 32} : tensor<8x1xf32> -> tensor<8x4xf32>
    tenon.yield %3 : tensor<8x4xf32>
  }
  return %1 : tensor<8x4xf32>
}

// -----

func.func @whole_rows_of_parts(%x: tensor<8x64xf16>, %w: tensor<100x64xf16>, %0: tensor<8x1xf32>) -> tensor<8x1xf32> {
  // expected-error @below {{yields tenon.row_parts alone with reduction = reduce_only, but a value is 'tensor<8x1xf32>'}}
  %1 = tenon.tiled_linear %x, %w : tensor<8x64xf16>, tensor<100x64xf16>
      epilogue(%acc: tensor<8x100xf32>) outs(%0: tensor<8x1xf32>)
      schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3, swizzle = 128, raster = 2, blocks = 1, reduction = reduce_only>
      -> tensor<8x1xf32> {
    %2 = tenon.reduce_row max %acc : tensor<8x100xf32>
    tenon.yield %2 : tensor<8x1xf32>
  }
  return %1 : tensor<8x1xf32>
}
