//===- Runtime.h - What generated code asks of the runtime ------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The binary interface between a compiled model and libtenon_runtime: the image
// that a model exports, and the functions that its code calls. Codegen knows
// the runtime by these names alone. Change a layout here and
// `kTenonImageVersion` changes with it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_RUNTIME_RUNTIME_H
#define TENON_RUNTIME_RUNTIME_H

#include "tenon-c/Model.h"
#include "tenon/Runtime/DataType.h"

extern "C" {

enum { kTenonImageVersion = 5 };

/// One call in flight: stream, workspace and device. Made by the runtime,
/// passed through generated code untouched. The first error is kept in it and
/// turns the calls below into no-ops, so generated code needs no branches.
typedef struct TenonCall TenonCall;

/// Code of one function for one kind of device. `descriptors[i]` points to the
/// MLIR memref descriptor of tensor i, inputs first, then outputs:
/// {void *allocated, void *aligned, int64 offset, int64 sizes[r], strides[r]}.
/// `workspace` is aligned to 256 bytes.
typedef void (*TenonEntry)(TenonCall *call, void **descriptors,
                           void *workspace);
/// Bytes of workspace for these descriptors; reads sizes only. Descriptors of
/// outputs are not given.
typedef int64_t (*TenonWorkspaceEntry)(void **descriptors);

/// Null entries: the model was not compiled for that kind of device.
typedef struct TenonFunctionImage {
  TenonEntry cpuEntry;
  TenonWorkspaceEntry cpuWorkspace;
  TenonEntry cudaEntry;
  TenonWorkspaceEntry cudaWorkspace;
} TenonFunctionImage;

/// The symbol `tenon_model_image` of a compiled model.
struct TenonModelImage {
  uint32_t version; ///< kTenonImageVersion
  uint32_t numFunctions;
  const char *manifest; ///< JSON, null-terminated; functions in image order,
                        ///< then the prepare functions of packed parameters
  const TenonFunctionImage *functions;
  const void *fatbin; ///< what cuModuleLoadData takes; null without GPU code
  uint64_t fatbinBytes;
  const void *parameters; ///< values packed in the model; null without them
  uint64_t parameterBytes;
};

/// Runs function number `function` of `image`; what the C functions in a
/// model's generated header call. The model is made on the first call. Behind
/// the functions of the image the numbers are those of the manifest's entries
/// with a `signature`, which are run by two of them.
TenonStatus tenonImageRun(const TenonModelImage *image, int32_t function,
                          const DLTensor *const *inputs, int32_t numInputs,
                          DLTensor *const *outputs, int32_t numOutputs,
                          void *workspace, uint64_t workspaceBytes,
                          void *stream);
/// The same for its workspace size.
TenonStatus tenonImageWorkspaceSize(const TenonModelImage *image,
                                    int32_t function,
                                    const DLTensor *const *inputs,
                                    int32_t numInputs, size_t *bytes);

/// The same in two steps, for functions with parameters: what depends on these
/// alone is written to `prepared`, memory of the caller's; it is 0 bytes where
/// that is nothing.
TenonStatus tenonImagePrepare(const TenonModelImage *image, int32_t function,
                              const DLTensor *const *parameters,
                              int32_t numParameters, void *prepared,
                              uint64_t preparedBytes, void *workspace,
                              uint64_t workspaceBytes, void *stream);
TenonStatus tenonImagePrepareWorkspaceSize(const TenonModelImage *image,
                                           int32_t function,
                                           const DLTensor *const *parameters,
                                           int32_t numParameters,
                                           size_t *preparedBytes,
                                           size_t *bytes);
TenonStatus tenonImageRunPrepared(const TenonModelImage *image,
                                  int32_t function,
                                  const DLTensor *const *inputs,
                                  int32_t numInputs, DLTensor *const *outputs,
                                  int32_t numOutputs, const void *prepared,
                                  uint64_t preparedBytes, void *workspace,
                                  uint64_t workspaceBytes, void *stream);
TenonStatus tenonImageRunPreparedWorkspaceSize(const TenonModelImage *image,
                                               int32_t function,
                                               const DLTensor *const *inputs,
                                               int32_t numInputs,
                                               size_t *bytes);

/// Launches kernel number `kernel` of the manifest's list on the call's stream.
/// `arguments` is what cuLaunchKernel takes. A grid with a zero extent is a
/// no-op (an empty batch). `waitsItself`: whether the kernel waits for what ran
/// before it, so that it may start earlier.
void tenonLaunchKernel(TenonCall *call, int32_t kernel, int64_t gridX,
                       int64_t gridY, int64_t gridZ, int64_t blockX,
                       int64_t blockY, int64_t blockZ,
                       int64_t dynamicSharedBytes, void **arguments,
                       int32_t waitsItself);

/// A global of the kernels' module, an unsigned 64-bit integer that starts at
/// 0: rows outside, of all splits so far. Absent where nothing is split.
constexpr char kTenonRowsOutside[] = "tenon_rows_outside";

/// How a persistent kernel is launched. A constant of the model.
typedef struct TenonPersistentKernel {
  int32_t kernel;        ///< its number in the manifest's list
  int32_t clusterBlocks; ///< 1 to 8; 1: no clusters
  int64_t maxBlocks;     ///< clusterBlocks or more
  int32_t waitsItself;   ///< whether the kernel waits for what ran before it
                         ///< on the stream (griddepcontrol.wait)
  int32_t minBlocks;     ///< that wait for each other; 0: none do
} TenonPersistentKernel;

/// Launches as many thread blocks of a kernel as there are pieces of `work`, at
/// most `maxBlocks`, and at most as many as are resident on the device at once.
/// The blocks share the work: the kernel reads from its grid, [blocks, 1, 1],
/// how many they are. Other work on the device can hold blocks back, so a block
/// may wait only for blocks of lower numbers. With `minBlocks` it may wait for
/// any: then the launch is cooperative, all of its blocks are resident
/// together, and a device that holds fewer is an error. With clusters,
/// neighbouring blocks along x, these start together, and the grid is whole
/// clusters: work counts blocks all the same, and those of the last cluster may
/// have none. `work` = 0 is a no-op; a kernel of which no block or cluster fits
/// the device is an error. One that waits itself may start before what ran
/// before it on the stream has ended, unless its launch is cooperative.
///
/// `token`, if not null, is the slot of one of the arguments. It receives a
/// number that no other launch of the process has, is not 0, and is unlikely to
/// lie in memory by chance. The kernel marks with it what it has finished, in a
/// workspace that may hold anything before, and clears its marks before it
/// ends: a replayed CUDA graph brings the same number again.
void tenonLaunchPersistent(TenonCall *call, const TenonPersistentKernel *kernel,
                           int64_t work, int64_t blockX,
                           int64_t dynamicSharedBytes, void **arguments,
                           int64_t *token);

/// How many blocks of `kernel` such a launch has at most on the call's device,
/// whole clusters; 0 where none fits, or the call has failed.
int64_t tenonResidentBlocks(TenonCall *call,
                            const TenonPersistentKernel *kernel, int64_t blockX,
                            int64_t dynamicSharedBytes);

/// What one TMA copy moves of a row-major matrix. A constant of the model.
typedef struct TenonTensorMap {
  TenonDType type;      ///< f32, f16 or bf16
  int32_t roundsTf32;   ///< whether f32 is rounded to tf32 as it is copied
  int32_t boxRows;      ///< 1 to 256
  int32_t boxColumns;   ///< 1 to 256; `swizzleBytes` at most
  int32_t swizzleBytes; ///< 32, 64 or 128
} TenonTensorMap;

/// Bytes of an encoded tensor map, and what its address is a multiple of.
enum : int64_t { kTenonTensorMapBytes = 128, kTenonTensorMapAlignment = 128 };

/// Writes the tensor map of a contiguous matrix to `slot`: what a kernel takes
/// by value. `base` and a row's bytes must be multiples of 16. Nothing is
/// written for a matrix without rows, of which no kernel is launched. Takes
/// less than a microsecond and touches no state, so nothing is cached.
void tenonEncodeTensorMap(TenonCall *call, const TenonTensorMap *map,
                          const void *base, int64_t rows, int64_t columns,
                          void *slot);

/// How the product is computed; `kTenonComputeF32` is SGEMM for f32 inputs and
/// fp32 accumulation for 16-bit ones.
enum TenonCompute : int32_t {
  kTenonComputeF32 = 0,
  kTenonComputeTF32 = 1,
  kTenonComputeBF16 = 2, ///< f32 inputs, rounded to bf16
  kTenonComputeF16 = 3,  ///< f32 inputs, rounded to f16
  kTenonComputeF64 = 4,
};
/// What cuBLASLt applies to alpha * x w^T (+ bias).
enum TenonBlasLtEpilogue : int32_t {
  kTenonEpilogueNone = 0,
  kTenonEpilogueRelu = 1,
  kTenonEpilogueGeluTanh = 2,
};

/// Which operands of a product are given transposed, as bits.
enum : int32_t {
  kTenonXTransposed = 1, ///< x is [K,M]
  kTenonWTransposed = 2, ///< w is [K,N]
};

/// What an x and a w of 8 bits are multiplied by: f32 in memory.
enum TenonBlasLtScales : int32_t {
  kTenonScalesNone = 0,
  kTenonScalesTensor = 1, ///< a number each
  kTenonScalesRows = 2,   ///< a number for each of x's M rows, and of w's N
};

/// y[M,N] = activation(alpha * x[M,K] w[N,K]^T + beta * c[M,N] + bias[N]), all
/// row-major and contiguous, x and w times their scales. A constant of the
/// model, so its address names it in the cache of plans.
typedef struct TenonBlasLtPlan {
  int64_t n, k;
  TenonDType inputType;  ///< of x and w
  TenonDType outputType; ///< of c, bias and y
  TenonCompute compute;
  TenonBlasLtEpilogue activation;
  int32_t hasBias;
  int32_t transposed; ///< of kTenonXTransposed and kTenonWTransposed
  TenonBlasLtScales scales;
  double alpha, beta; ///< beta is 0 or 1
} TenonBlasLtPlan;

/// Bytes of workspace that every `tenonBlasLtRun` is given.
enum : int64_t { kTenonBlasLtWorkspaceBytes = 32 << 20 };

/// Enqueues the product. What the plan has none of is null; c may be y. The
/// algorithm is chosen by cuBLASLt's heuristic once for each plan, device, M
/// and pointer alignment, and kept. K = 0 or M = 0 are allowed.
void tenonBlasLtRun(TenonCall *call, const TenonBlasLtPlan *plan, int64_t m,
                    const void *x, const void *w, const void *xScale,
                    const void *wScale, const void *bias, const void *c,
                    void *y, void *workspace);

/// Copies `bytes` from `source` to `target`, both on the call's device: on its
/// stream on the GPU, at once on the CPU.
void tenonCopy(TenonCall *call, void *target, const void *source,
               int64_t bytes);

/// The same of tensors whose elements, of `elementBytes`, need not be
/// neighbours in memory. `layout` has the `rank` extents, the target's strides
/// and the source's, in elements.
void tenonCopyStrided(TenonCall *call, void *target, const void *source,
                      int64_t elementBytes, int64_t rank,
                      const int64_t *layout);

/// Memory of the calling thread, `bytes` of it at a multiple of 64, which is
/// there until the thread asks for that `number` again. What a task keeps there
/// could be more than a thread's stack.
void *tenonScratch(int64_t number, int64_t bytes);

/// Calls body(index, context) for every index in [0, count), on as many threads
/// as TENON_NUM_THREADS says (default: the CPUs this process may use). Returns
/// when all are done; nested calls run on the calling thread.
void tenonParallelFor(void (*body)(int64_t index, void *context), int64_t count,
                      void *context);

// What LLVM calls where the CPU has no instruction, and what only later
// versions of libgcc have: a model is linked with none. A number of 16 bits is
// in the low half of a float's register.

/// Rounds to bf16. LLVM keeps one that lives across blocks as an f32 and calls
/// this to make it one again.
float __truncsfbf2(float value);
float __truncdfbf2(double value);
/// Rounds to f16.
float __truncsfhf2(float value);
float __truncdfhf2(double value);
/// What an f16 is as an f32.
float __extendhfsf2(float value);

} // extern "C"

#endif // TENON_RUNTIME_RUNTIME_H
