//===- Passes.td - Passes of the CUDA target ---------------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CUDA_PASSES_TD
#define TENON_CODEGEN_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

// The passes run on modules, not on functions in parallel: MLIR's remark engine
// has no lock.

def TenonToTiled : Pass<"tenon-to-tiled", "::mlir::ModuleOp"> {
  let summary = "Turn linear layers of strategy tiled into tenon.tiled_linear";
  let description = [{
    A `tenon.linear` or `tenon.fused_linear` of strategy `tiled` becomes one
    `tenon.tiled_linear` with its schedule: the region as it is, a bias as an
    `add`, new tensors for the results. Layers whose schedules need workspaces of
    one size (`stream_k`, `reduction = resident`) share it within a function.
    Layers of another strategy, or of none, stay for `--tenon-to-blaslt`. Before:

    ```mlir
    func.func @relu(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<?x32xbf16> {
      %0 = tenon.fused_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
          epilogue(%acc: tensor<?x32xbf16>) -> tensor<?x32xbf16>
          attributes {schedule = #tenon.schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>,
                      strategy = #tenon.strategy<tiled>} {
        %1 = tenon.relu %acc : tensor<?x32xbf16>
        tenon.yield %1 : tensor<?x32xbf16>
      }
      return %0 : tensor<?x32xbf16>
    }
    ```

    After:

    ```mlir
    func.func @relu(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<?x32xbf16> {
      %ws = bufferization.alloc_tensor() : tensor<1574400xi8>
      %c0 = arith.constant 0 : index
      %m = tensor.dim %x, %c0 : tensor<?x64xbf16>
      %init = tensor.empty(%m) : tensor<?x32xbf16>
      %0 = tenon.tiled_linear %x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>
          epilogue(%acc: tensor<?x32xbf16>) outs(%init: tensor<?x32xbf16>) workspace(%ws: tensor<1574400xi8>)
          schedule<mma_sync, tile = 64x32x64, warps = 2x2, stages = 3, swizzle = 128, raster = 8, blocks = 1, stream_k = true>
          -> tensor<?x32xbf16> {
        %1 = tenon.relu %acc : tensor<?x32xbf16>
        tenon.yield %1 : tensor<?x32xbf16>
      }
      return %0 : tensor<?x32xbf16>
    }
    ```

    A layer whose schedule has a method that splits becomes two ops. The first
    multiplies the halves of x and w: those that `tenon.with_split` puts beside
    them, or new ones by `tenon.split`. The second, guarded, computes anew the tiles
    of which the factors say that halves do not hold their rows, from x and w
    themselves: with method `fma` for precision `fp32`, directly for `tf32`. Before
    and after, with the first op's schedule left out:

    ```mlir
    %y = tenon.linear %x, %w {schedule = ..., strategy = #tenon.strategy<tiled>}
        : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
    ```

    ```mlir
    %init = tensor.empty() : tensor<8x32xf32>
    %xs:2 = tenon.split %x : (tensor<8x64xf32>) -> (tensor<8x128xf16>, tensor<8x1xf32>)
    %ws:2 = tenon.split %w : (tensor<32x64xf32>) -> (tensor<32x128xf16>, tensor<32x1xf32>)
    %y0 = tenon.tiled_linear %xs#0, %ws#0 : tensor<8x128xf16>, tensor<32x128xf16>
        factors(%xs#1, %ws#1 : tensor<8x1xf32>, tensor<32x1xf32>)
        epilogue(%acc: tensor<8x32xf32>) outs(%init: tensor<8x32xf32>) schedule<...> -> tensor<8x32xf32> {
      tenon.yield %acc : tensor<8x32xf32>
    }
    %y = tenon.tiled_linear %x, %w : tensor<8x64xf32>, tensor<32x64xf32>
        factors(%xs#1, %ws#1 : tensor<8x1xf32>, tensor<32x1xf32>)
        epilogue(%acc: tensor<8x32xf32>) outs(%y0: tensor<8x32xf32>)
        schedule<mma_sync, tile = 64x64x32, warps = 2x2, stages = 4, swizzle = 128, raster = 16, blocks = 1, method = fma>
        -> tensor<8x32xf32> {
      tenon.yield %acc : tensor<8x32xf32>
    }
    ```

    A layer whose method is not `direct`, and of which a tile cannot compute all (a
    reduction, a result of another shape), becomes its bare product in this way,
    and a `tenon.epilogue` that does the rest in place, as after a cuBLASLt product.

    A training batch norm follows the schedule's `reduction`. With `resident` it
    stays in the region. With `two_phase` the layer is cut at it: the region ends
    in the norm's input and its `tenon.moments`, and a `tenon.epilogue` normalises.
    With `input_moments` the region has a scale and a shift in its place, which
    come of a `tenon.product_moments` of x and w.

    Errors: strategy `tiled` without a schedule; a method that does not give the
    layer's precision; a reduction that the layer cannot have by its schedule; f32
    of precision `bf16` or `fp16`, which `--tenon-select-strategy` casts.
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::tensor::TensorDialect", "::mlir::tenon::TenonDialect",
  ];
}

def TenonToBlasLt : Pass<"tenon-to-blaslt", "::mlir::ModuleOp"> {
  let summary = "Turn linear layers into cuBLASLt products";
  let description = [{
    A linear layer becomes one `blaslt.run`. What follows it goes into the plan
    where cuBLASLt can express all of it, in this order, each part optional:

    `acc * constant`, `+ residual [M, N]`, `+ bias [N]`, `relu` or
    `gelu approximate<tanh>`

    with residual and bias of the product's type, one result, and for f64 neither
    bias nor activation. Any other order rounds differently and is not matched.
    Otherwise the run computes the bare product and one `tenon.epilogue`, in place
    where types allow, does the rest. Every other op of the tenon dialect, and
    elementwise op on tensors, ends in a `tenon.epilogue` too, together with the
    ops that it alone reads. Before:

    ```mlir
    func.func @mish(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
      %0 = tenon.fused_linear %x, %w precision<tf32> : tensor<?x64xf32>, tensor<32x64xf32>
          epilogue(%acc: tensor<?x32xf32>) -> tensor<?x32xf32> {
        %1 = tenon.mish %acc : tensor<?x32xf32>
        tenon.yield %1 : tensor<?x32xf32>
      }
      return %0 : tensor<?x32xf32>
    }
    ```

    After:

    ```mlir
    func.func @mish(%x: tensor<?x64xf32>, %w: tensor<32x64xf32>) -> tensor<?x32xf32> {
      %ws = bufferization.alloc_tensor() : tensor<33554432xi8>
      %plan = blaslt.plan n = 32, k = 64, compute = tf32 : f32 -> f32
      %c0 = arith.constant 0 : index
      %m = tensor.dim %x, %c0 : tensor<?x64xf32>
      %init = tensor.empty(%m) : tensor<?x32xf32>
      %0 = blaslt.run %plan ins(%x, %w : tensor<?x64xf32>, tensor<32x64xf32>)
          workspace(%ws : tensor<33554432xi8>) outs(%init : tensor<?x32xf32>) -> tensor<?x32xf32>
      %1 = tenon.epilogue ins(%acc = %0: tensor<?x32xf32>) outs(%0: tensor<?x32xf32>) -> tensor<?x32xf32> {
        %2 = tenon.mish %acc : tensor<?x32xf32>
        tenon.yield %2 : tensor<?x32xf32>
      }
      return %1 : tensor<?x32xf32>
    }
    ```

    An analysis remark of category `tenon-to-blaslt` says for each layer what was
    chosen and why. A constant that is not a splat is an error: it would lie in
    the host's memory; so is an op that the host would have to compute.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::blaslt::BlasLtDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::tensor::TensorDialect", "::mlir::tenon::TenonDialect",
  ];
}

def TenonEmitKernels : Pass<"tenon-emit-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn what tenon computes on memrefs into GPU kernels";
  let description = [{
    Each `tenon.epilogue` becomes one kernel, and one more for each reduction in
    it, in `gpu.module @kernels`, with the launches in the op's place. Each
    kernel exists twice: with vectors of up to 16 bytes, as wide as N allows,
    and element by element for pointers that are not aligned so; the host
    chooses. So become `tenon.split`, one kernel, and `tenon.product_moments`,
    three. The module's attribute `tenon.kernels` lists the kernels' names by
    number. Before:

    ```mlir
    func.func @double(%y: memref<?x32xf32>) {
      tenon.epilogue ins(%acc = %y: memref<?x32xf32>) outs(%y: memref<?x32xf32>) {
        %0 = tenon.mul %acc, 2.0 : tensor<?x32xf32>
        tenon.yield %0 : tensor<?x32xf32>
      }
      return
    }
    ```

    After, with the kernel's body left out:

    ```mlir
    module attributes {gpu.container_module, tenon.kernels = ["double_map_v4", "double_map_v1"]} {
      func.func @double(%y: memref<?x32xf32>) {
        ...
        scf.if %aligned {
          tenon.launch @kernels::@double_map_v4 blocks(%grid)
              threads(%c256)
              args(%y : memref<?x32xf32>, %y : memref<?x32xf32>, %m : i64, %groups : i64)
        } else {
          ...
        }
        return
      }
      gpu.module @kernels {
        llvm.func @double_map_v4(!llvm.ptr<1>, !llvm.ptr<1>, i64, i64) attributes {gpu.kernel, nvvm.kernel}
        ...
      }
    }
    ```

    Each `tenon.tiled_linear` becomes one kernel that multiplies, computes the
    epilogue on the product and stores the results, by the op's schedule. It has
    what its shape and schedule need and no more: copies of up to 16 bytes, as
    wide as K allows; zeros beyond K where K does not fill its tiles; predicated
    stores where M or N do not; an exchange of partial sums with `stream_k`. It
    exists twice too: the one for pointers that are not aligned has small tiles,
    of mma_sync, and no stream-K. Moments of many rows are combined by a kernel of
    their own, and where pointers are not aligned a resident reduction is one of
    two kernels. Where N and K allow no access of more than an element,
    only that one is left, and nothing to choose. Before:

    ```mlir
    func.func @layer(%x: memref<?x64xbf16>, %w: memref<32x64xbf16>, %y: memref<?x32xbf16>) {
      tenon.tiled_linear %x, %w : memref<?x64xbf16>, memref<32x64xbf16>
          epilogue(%acc: tensor<?x32xbf16>) outs(%y: memref<?x32xbf16>)
          schedule<mma_sync, tile = 64x64x64, warps = 2x2, stages = 3,
                   swizzle = 128, raster = 8, blocks = 1> {
        %0 = tenon.relu %acc : tensor<?x32xbf16>
        tenon.yield %0 : tensor<?x32xbf16>
      }
      return
    }
    ```

    After:

    ```mlir
    func.func @layer(%x: memref<?x64xbf16>, %w: memref<32x64xbf16>, %y: memref<?x32xbf16>) {
      ...
      scf.if %aligned {
        tenon.launch @kernels::@layer_tiled blocks(%work)
            threads(%threads) shared(%bytes)
            args(%x : memref<?x64xbf16>, %w : memref<32x64xbf16>, %y : memref<?x32xbf16>,
                 %m : i64, %token : i64) {persistent = 192 : i64}
      } else {
        ...
      }
      return
    }
    ```

    The arguments are x, w, their factors, the epilogue's inputs, the outputs, the
    workspace if there is one, M, and a token that the runtime makes different for
    each launch. Before them all, for wgmma, stand the matrices that TMA moves; the
    runtime encodes a tensor map of each.
    `persistent` is the number of blocks at most; `--tenon-host-to-llvm`
    makes of such a launch a call that starts no more than are resident at once.
    With `reduction = resident` and a dynamic M the condition also compares the
    blocks that wait for each other with `tenon.resident_blocks`.

    Errors: an op on tensors; a `tenon.tiled_linear` that cannot have its schedule,
    with the reason; for `tenon.epilogue` also memrefs that are not
    contiguous, and a dynamic or empty dimension but the first.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
  ];
}

def TenonLowerKernels : Pass<"tenon-lower-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower kernels to the LLVM and NVVM dialects";
  let description = [{
    What is left to lower in a kernel of `--tenon-emit-kernels`: scf, arith, math
    and vector. Transcendental functions become calls of libdevice; square roots
    stay LLVM's, which round correctly. Before and after:

    ```mlir
    %0 = math.erf %x : f32
    %0 = llvm.call @__nv_erff(%x) : (f32) -> f32
    ```

    Conversions of 8-bit floats become arithmetic on integers, but those of
    f8E4M3FN instructions where all targets have them (`converts-bytes`).
  }];
  let options = [
    Option<"convertsBytes", "converts-bytes", "bool", "false",
           "Whether all targets have instructions that convert f8E4M3FN">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::cf::ControlFlowDialect"];
}

def TenonSerializeKernels : Pass<"tenon-serialize-kernels", "::mlir::ModuleOp"> {
  let summary = "Compile kernels to a fat binary for the given GPUs";
  let description = [{
    Replaces `gpu.module @kernels` by a `gpu.binary`. Its last object is a fat
    binary: a cubin for each target, and PTX of the lowest target that is not
    architecture-specific ('a'), for GPUs that come later. Before it stands each
    target's PTX, whose properties say what each kernel needs of it: registers,
    bytes of shared memory, bytes spilled. A warning of ptxas that
    says it gave up an optimisation is an error; a kernel that spills registers is
    a missed remark of category `tenon-kernels`. Before and after:

    ```mlir
    gpu.module @kernels { ... }
    gpu.binary @kernels [
      #gpu.object<#nvvm.target<chip = "sm_90a">, properties = {layer_tiled = {registers = 168, ...}}, assembly = "...">,
      #gpu.object<#nvvm.target<chip = "sm_90a">, fatbin = "...">]
    ```
  }];
  let options = [
    ListOption<"targets", "targets", "std::string",
               "GPU architectures, as sm_80,sm_90a">,
  ];
  let dependentDialects = ["::mlir::gpu::GPUDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

#endif // TENON_CODEGEN_CUDA_PASSES_TD
