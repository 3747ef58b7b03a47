//===- Passes.td - Host side of a compiled model -----------*- tablegen -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_HOST_PASSES_TD
#define TENON_CODEGEN_HOST_PASSES_TD

include "mlir/Pass/PassBase.td"

def TenonBufferize : Pass<"tenon-bufferize", "::mlir::ModuleOp"> {
  let summary = "Turn tensors into buffers, leaving the inputs unwritten";
  let description = [{
    Upstream's one-shot bufferization across function boundaries, with identity
    layouts. Arguments are read-only, so an op that would work in place on an
    input works on a copy of it; results are returned as buffers
    (`--tenon-host-abi` then gives them the caller's). An op of ours that reads a
    buffer with gaps, as a slice of columns is, reads a copy without them.

    ```mlir
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32>
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<?x64xf32>) -> memref<?x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
}

def TenonHostAbi : Pass<"tenon-host-abi", "::mlir::ModuleOp"> {
  let summary = "Give functions the signature that the runtime calls";
  let description = [{
    Each public function becomes a `TenonEntry` (Runtime/Runtime.h), named
    `NAME__DEVICE`: its first argument is the call in flight, the second an array
    of pointers to the memref descriptors of inputs and outputs, the third the
    workspace. A returned buffer becomes the caller's output, each other
    `memref.alloc` a slice of the workspace, aligned to 256 bytes. A second
    function, `NAME__DEVICE_workspace`, gives the workspace's size from the inputs'
    descriptors.

    ```mlir
    func.func @f(%x: memref<8xf32>) -> memref<8xf32> {
      %tmp = memref.alloc() : memref<8xf32>
      %y = memref.alloc() : memref<8xf32>
      ...
      return %y : memref<8xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f__cpu(%call: !llvm.ptr, %descriptors: !llvm.ptr, %workspace: !llvm.ptr) {
      %x = ...    // from descriptors[0]
      %y = ...    // from descriptors[1]
      %tmp = memref.view %ws[%c0][] : memref<?xi8> to memref<8xf32>
      ...
    }
    func.func @f__cpu_workspace(%descriptors: !llvm.ptr) -> i64
    ```

    Errors: an allocation inside a loop, or one whose size is not computed from
    the inputs' extents.
  }];
  let options = [
    Option<"device", "device", "std::string", /*default=*/"\"cpu\"",
           "Suffix of the functions' names: cpu or cuda">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect"];
}

def TenonHostToLLVM : Pass<"tenon-host-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Lower host code to the LLVM dialect, with calls of the runtime";
  let description = [{
    The last step of the host side: what is left of func, memref, arith, math, cf
    and index, `blaslt` ops and kernel launches become LLVM ops and calls of the
    functions in Runtime/Runtime.h. `memref.copy` becomes `tenonCopy`, on the
    call's stream, or of buffers with gaps `tenonCopyStrided`. A large
    `memref.alloca` becomes `tenonScratch`, memory of the thread.

    ```mlir
    memref.copy %a, %b : memref<8xf32> to memref<8xf32>
    ```
    becomes
    ```mlir
    llvm.call @tenonCopy(%call, %b_ptr, %a_ptr, %bytes) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
    ```

    A launch's arguments are laid on the stack. One with `persistent` becomes
    `tenonLaunchPersistent`, which `cluster` and `waits_itself` reach in a
    constant; a memref that has an entry in `tensor_maps` becomes 128 bytes,
    which the runtime fills before the launch:

    ```mlir
    tenon.launch @kernels::@k blocks(%work) threads(%c384)
        args(%x : memref<?x64xbf16>, %y : memref<?x32xbf16>, %token : i64)
        {persistent = 192 : i64, cluster = 2 : i64,
         tensor_maps = [#tenon.tensor_map<box = 128x64, swizzle = 128>]}
    ```
    becomes
    ```mlir
    llvm.call @tenonEncodeTensorMap(%call, %map, %x_ptr, %rows, %columns, %slot) : ...
    ...
    llvm.call @tenonLaunchPersistent(%call, %kernel, %work, %threads, %bytes, %args, %token_slot) : ...
    ```

    `tenon.resident_blocks` becomes `tenonResidentBlocks`, which takes such a
    constant too.

    Errors: a launch of a kernel that `tenon.kernels` does not list; a persistent
    one without a token; a memref that its tensor map cannot describe.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def TenonReference : Pass<"tenon-reference", "::mlir::ModuleOp"> {
  let summary = "Turn functions into float64 references of themselves";
  let description = [{
    Each public function `@f` becomes `@f_reference`: it takes the same inputs,
    widens them to f64, computes in f64 and gives f64 results. What a model
    computes is checked against it (`tenon-run --check`). Precision contracts
    and casts are dropped: f64 satisfies all of them.

    ```mlir
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      %0 = tenon.relu %x : tensor<?x64xf32>
      return %0 : tensor<?x64xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f_reference(%x: tensor<?x64xf32>) -> tensor<?x64xf64> {
      %0 = arith.extf %x : tensor<?x64xf32> to tensor<?x64xf64>
      %1 = tenon.relu %0 : tensor<?x64xf64>
      return %1 : tensor<?x64xf64>
    }
    ```

    With `bounds`, `@f_bounds` comes after it, marked with `tenon.bounds`: of the
    same inputs it gives, for each element of f's results, how far off that may be
    where every op is rounded as the specification allows. It has the errors of
    an element's own operands, so that small elements have small bounds. There is
    none of a function with an op whose bound is not known, such as
    `tenon.fused_linear`, or of more than 256 ops.

    Errors: a `tenon.split`, whose results are defined bit for bit.
  }];
  let options = [
    Option<"bounds", "bounds", "bool", "false",
           "Add functions that bound each element's error">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

#endif // TENON_CODEGEN_HOST_PASSES_TD
