//===- Passes.td - The CPU target --------------------------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_PASSES_TD
#define TENON_CODEGEN_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def TenonToLinalg : Pass<"tenon-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "Lower tenon ops on tensors to linalg";
  let description = [{
    A product becomes a fill and a `linalg.matmul` with w transposed, which
    accumulates in the compute type: f32, or f64 for f64. Elementwise ops become
    `linalg.generic` on scalars extended to the compute type. In a `fused_linear`
    all ops of one shape between two reductions become one `linalg.generic`, and
    16-bit intermediates stay in f32; an op that stands alone rounds to its type.
    A reduction becomes one pass over the rows with its state in f64, and the map
    that follows it is in f64 too: Welford's rule on columns of large mean and
    small deviation would lose its digits in f32. `tenon.split` stays
    (`--tenon-cpu-split`).

    ```mlir
    %y = tenon.fused_linear %x, %w : tensor<?x64xf16>, tensor<32x64xf16>
        epilogue(%acc: tensor<?x32xf16>, %b = %bias: tensor<32xf16>) -> tensor<?x32xf16> {
      %0 = tenon.add %acc, %b : tensor<?x32xf16>, tensor<32xf16>
      %1 = tenon.relu %0 : tensor<?x32xf16>
      tenon.yield %1 : tensor<?x32xf16>
    }
    ```
    becomes
    ```mlir
    %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
    %acc = linalg.matmul indexing_maps = [(m, n, k) -> (m, k), (m, n, k) -> (n, k), (m, n, k) -> (m, n)]
        ins(%x, %w : tensor<?x64xf16>, tensor<32x64xf16>) outs(%fill : tensor<?x32xf32>) -> tensor<?x32xf32>
    %y = linalg.generic ... ins(%acc, %bias : tensor<?x32xf32>, tensor<32xf16>) outs(%out : tensor<?x32xf16>) {
    ^bb0(%in: f32, %in_0: f16, %out: f16):
      %0 = arith.extf %in_0 : f16 to f32
      %1 = arith.addf %in, %0 fastmath<contract> : f32
      %2 = arith.maximumf %1, %zero : f32
      %3 = arith.truncf %2 : f32 to f16
      linalg.yield %3 : f16
    } -> tensor<?x32xf16>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TenonFuseElementwise : Pass<"tenon-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Make one loop of elementwise linalg ops, and let it work in place";
  let description = [{
    Upstream's elementwise fusion, where it repeats no work: producer and consumer
    run over the same elements and nothing else uses the producer. Then an op
    whose output is new memory writes to an input of the same type instead, where
    that input is an intermediate of no other use.

    ```mlir
    %0 = linalg.generic ... ins(%acc, %bias) outs(%empty) { addf }
    %1 = linalg.generic ... ins(%0) outs(%empty) { maximumf }
    ```
    becomes
    ```mlir
    %1 = linalg.generic ... ins(%bias) outs(%acc) { addf, maximumf }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def TenonCPUMatmul : Pass<"tenon-cpu-matmul", "::mlir::func::FuncOp"> {
  let summary = "Make a packed, vectorised, threaded kernel of linalg's products";
  let description = [{
    Takes products of x[m,k] and w[n,k], N and K static, on buffers, whatever the op's
    name; those of batches too, of any number of loops, also with w[k,n]. Tiles of the
    results run in parallel. In a tile, for each block of K, panels of w are
    packed so that n runs along vectors, rows of x are copied, both extended to the
    accumulator's type and padded with zeros; a register tile of rows x 2 vectors
    then runs over k without any edge case. The packed blocks are on the stack.

    ```mlir
    linalg.matmul indexing_maps = [...] ins(%x, %w : memref<?x64xf32>, memref<48x64xf32>) outs(%y : memref<?x48xf32>)
    ```
    becomes
    ```mlir
    scf.parallel (%i, %j) = ... {
      %wp = memref.alloca() : memref<3x64x16xf32>
      %xp = memref.alloca() : memref<96x64xf32>
      ... // pack
      %tile:12 = scf.for %k = ... iter_args(...) -> (vector<8xf32>, ...) { ... }
      ... // add to y
    }
    ```

    Any other product is left to `--tenon-cpu-loops`.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", /*default=*/"256",
           "Width of the CPU's vectors: 256, or 512 for x86-64-v4">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def TenonCPUSplit : Pass<"tenon-cpu-split", "::mlir::func::FuncOp"> {
  let summary = "Make parallel, vectorised loops of tenon.split";
  let description = [{
    Takes `tenon.split` on buffers with contiguous rows. Rows run in parallel; each
    is read once for its largest magnitude and once more to be written in parts,
    8 elements at a time. The last ones are read under a mask, as zeros beyond K.

    ```mlir
    tenon.split %x outs(%halves, %factors)
        : (memref<?x40xf32>, memref<?x128xf16>, memref<?x1xf32>) -> ()
    ```
    becomes
    ```mlir
    scf.parallel (%i) = (%c0) to (%chunks) step (%c1) {
      scf.for %m = %begin to %end step %c1 {
        %0 = scf.for %k = %c0 to %c40 step %c8 iter_args(%sum = %zeros) -> (vector<8xi32>) { ... }
        %largest = vector.reduction <maxsi>, %0 : vector<8xi32> into i32
        ... // the scale
        %1 = scf.for %k = %c0 to %c40 step %c8 iter_args(%sum = %zeros) -> (vector<8xi32>) {
          %2 = vector.load %x[%m, %k] : memref<?x40xf32>, vector<8xf32>
          ... // the parts and their scores
          vector.store %hi, %halves[%m, %column] : memref<?x128xf16>, vector<8xf16>
          vector.store %lo, %halves[%m, %column_32] : memref<?x128xf16>, vector<8xf16>
        }
        %score = vector.reduction <add>, %1 : vector<8xi32> into i32
        ... // the rest of the last 32 columns, and the sign
        memref.store %factor, %factors[%m, %c0] : memref<?x1xf32>
      }
    }
    ```

    Errors: an op on tensors; buffers whose rows are not contiguous.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def TenonCPULoops : Pass<"tenon-cpu-loops", "::mlir::func::FuncOp"> {
  let summary = "Make parallel, vectorised loops of the linalg ops that are left";
  let description = [{
    Takes linalg ops on buffers of up to two loops, of which the last is parallel:
    elementwise ops, fills, and reductions over the first. Chunks large enough to
    be worth a thread run in parallel; along the last dimension whole vectors are
    followed by a scalar remainder. A reduced dimension is not split, so the order
    of a reduction never depends on the number of threads. Any other linalg op
    becomes plain loops (upstream's).

    Errors: an op on tensors.

    ```mlir
    linalg.generic {indexing_maps = [(m, n) -> (m, n), (m, n) -> (n), (m, n) -> (m, n)], ...}
        ins(%x, %b : memref<?x64xf32>, memref<64xf32>) outs(%y : memref<?x64xf32>) { addf }
    ```
    becomes
    ```mlir
    scf.parallel (%i) = (%c0) to (%chunks) step (%c1) {
      scf.for %m = %begin to %end step %c1 {
        scf.for %n = %c0 to %c64 step %c8 {
          %0 = vector.load %x[%m, %n] : memref<?x64xf32>, vector<8xf32>
          %1 = vector.load %b[%n] : memref<64xf32>, vector<8xf32>
          %2 = arith.addf %0, %1 : vector<8xf32>
          vector.store %2, %y[%m, %n] : memref<?x64xf32>, vector<8xf32>
        }
      }
    }
    ```
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", /*default=*/"256",
           "Width of the CPU's vectors: 256, or 512 for x86-64-v4">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def TenonCPUMath : Pass<"tenon-cpu-math", "::mlir::ModuleOp"> {
  let summary = "Compute exp, exp2, tanh and erf of f32 in line; call libm for f64";
  let description = [{
    exp, tanh and erf of f32 become upstream's polynomials, which run on vectors:
    tanh and erf are within 5 units in the last place, exp is within 2 where it is
    neither subnormal nor beyond exp(88.37), which it makes 0 and infinity. exp2 of f32
    is computed likewise, and is 0 up to -126.5 and infinity from 127.5 on. erf and
    tanh of f64 become calls of libm, element by element.

    ```mlir
    %1 = math.erf %0 : vector<2xf64>
    ```
    becomes
    ```mlir
    %2 = vector.extract %0[0] : f64 from vector<2xf64>
    %3 = func.call @erf(%2) : (f64) -> f64
    ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def TenonParallelToRuntime : Pass<"tenon-parallel-to-runtime", "::mlir::ModuleOp"> {
  let summary = "Turn parallel loops into calls of tenonParallelFor";
  let description = [{
    The body of each outermost `scf.parallel` becomes a function of an index and a
    context; the index counts the loop's iterations, last dimension fastest. The
    context is a struct on the caller's stack that holds the values the body uses.
    A parallel loop inside another becomes serial loops.

    ```mlir
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      memref.store %v, %y[%i] : memref<?xf32>
    }
    ```
    becomes
    ```mlir
    llvm.store %captured, %context : !llvm.struct<(...)>, !llvm.ptr
    llvm.call @tenonParallelFor(%body, %n, %context) : (!llvm.ptr, i64, !llvm.ptr) -> ()

    func.func private @f_parallel(%index: i64, %context: !llvm.ptr) {
      ... llvm.load %context
      memref.store %v, %y[%i] : memref<?xf32>
      return
    }
    ```

    Errors: a loop that reduces a value, which would need an order.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // TENON_CODEGEN_CPU_PASSES_TD
