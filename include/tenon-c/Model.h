/*===- tenon-c/Model.h - Load and call a compiled model ---------*- C -*-===*\
 *
 * Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * The public C interface of libtenon_runtime. It holds no compiler: a program
 * that links it and a compiled model needs neither Python nor MLIR.
 *
 * Tensors are DLPack `DLTensor`s, contiguous and row-major. All tensors of one
 * call live on one device; `kDLCPU` runs the model's CPU code and `kDLCUDA` its
 * GPU code, on the caller's stream. A call allocates no device memory, never
 * synchronises with the GPU, and may be captured in a CUDA graph once
 * `tenonModelLoad` has been called for the device.
 *
 * A model may hold its parameters' values: its functions then take activations
 * alone. They are loaded with the kernels, into memory of the model's own.
 *
 * Every function is safe to call from several threads at once.
 *
\*===----------------------------------------------------------------------===*/

#ifndef TENON_C_MODEL_H
#define TENON_C_MODEL_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What went wrong; `tenonLastError` has the sentence that says where. */
typedef enum TenonStatus {
  TENON_OK = 0,
  /** Wrong tensor count, device, dtype, shape, stride or alignment. */
  TENON_INVALID_ARGUMENT = 1,
  /** A file, function, symbol, GPU or library that is not there. */
  TENON_NOT_FOUND = 2,
  /** The model has no code for this GPU or CPU, or a newer format. */
  TENON_UNSUPPORTED = 3,
  /** The CUDA driver or cuBLASLt reported an error. */
  TENON_DEVICE_ERROR = 4,
} TenonStatus;

/** A loaded model. */
typedef struct TenonModel TenonModel;
/** A function of a loaded model; lives as long as its model. */
typedef struct TenonFunction TenonFunction;
/** What a compiled model exports as `tenon_model_image` (Runtime/Runtime.h). */
typedef struct TenonModelImage TenonModelImage;

/** Message of the last failing call on this thread; never null. */
const char *tenonLastError(void);

/** Version of the runtime, "major.minor.patch". */
const char *tenonRuntimeVersion(void);

/** Opens the shared object at `path`. On success `*model` is owned by the
 *  caller, who closes it with `tenonModelClose`. */
TenonStatus tenonModelOpen(const char *path, TenonModel **model);

/** Makes a model of an image that is already in memory (statically linked or
 *  compiled in this process). The image must outlive the model. */
TenonStatus tenonModelFromImage(const TenonModelImage *image,
                                TenonModel **model);

/** Unloads kernels and closes the library. No call may be in flight. Null is
 *  allowed. */
void tenonModelClose(TenonModel *model);

/** The manifest, JSON text: functions, tensors, architectures, kernels. */
const char *tenonModelManifest(const TenonModel *model);

/** Loads kernels and packed parameters and creates library handles on `device`,
 *  so that the first call there costs nothing and may be captured in a graph.
 *  Waits for the device where there are packed parameters. */
TenonStatus tenonModelLoad(TenonModel *model, DLDevice device);

/** How often the slower path ran: rows of x and of w that were outside what f16
 *  parts can stand for (docs/Precision.md), so that each tile of the result
 *  with such a row was computed once more. Counted over all calls of `model` on
 *  `device` since it was loaded there, weights once each time that they are
 *  prepared. Not counted are rows of w that are outside only because their
 *  largest magnitude is below 2^-87 or not below 2^87. 0 where nothing ran yet,
 *  on the CPU, and for models without such products. Waits for all work on the
 *  device, so it belongs neither into a hot path nor into a graph capture;
 *  replays count. */
TenonStatus tenonModelCountRowsOutside(TenonModel *model, DLDevice device,
                                       uint64_t *count);

/** The same for the functions of a model's generated header, whose image
 *  `image` is. */
TenonStatus tenonImageCountRowsOutside(const TenonModelImage *image,
                                       DLDevice device, uint64_t *count);

/** Finds a function by name. */
TenonStatus tenonModelFunction(TenonModel *model, const char *name,
                               TenonFunction **function);

/** Bytes of workspace that `tenonFunctionRun` needs for these tensors. Only
 *  shapes, dtypes and the device are read; `data` may be null. */
TenonStatus tenonFunctionWorkspaceSize(TenonFunction *function,
                                       const DLTensor *const *inputs,
                                       int32_t numInputs, size_t *bytes);

/** Runs the function: reads `inputs`, writes `outputs`, all allocated by the
 *  caller. `workspace` is memory on the same device, aligned to 256 bytes, of
 *  at least the size asked for; null is allowed where that is 0. `stream` is a
 *  `CUstream`, ignored on the CPU. On the GPU it returns before the work is
 *  done. An output may be the buffer of an input only where the two are a
 *  running statistic and its new value; no other tensors may overlap. After a
 *  failure the contents of `outputs` are undefined. */
TenonStatus tenonFunctionRun(TenonFunction *function,
                             const DLTensor *const *inputs, int32_t numInputs,
                             DLTensor *const *outputs, int32_t numOutputs,
                             void *workspace, size_t workspaceBytes,
                             void *stream);

#ifdef __cplusplus
}
#endif

#endif /* TENON_C_MODEL_H */
