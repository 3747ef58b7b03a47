//===- Fakes.h - A CUDA driver and a cuBLASLt for tests ---------*- C++ -*-===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One small library that plays libcuda and libcublasLt on a machine without a
// GPU (TENON_LIBCUDA and TENON_LIBCUBLASLT point to it). Device memory is host
// memory, and fp32 and fp64 products are really computed, so a wrong layout
// gives wrong numbers. It records into fixed arrays: it never allocates in a
// call whose allocations a test counts.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_UNITTESTS_RUNTIME_FAKES_H
#define TENON_UNITTESTS_RUNTIME_FAKES_H

#include <cublasLt.h>
#include <cuda.h>
#include <mutex>

namespace fake {

struct Context {
  int device;
};

struct Function {
  char name[64];
  Context *context;
  int dynamicSharedLimit;
};

struct Launch {
  const Function *function;
  unsigned grid[3], block[3], sharedBytes;
  CUstream stream;
  void *firstArgument; ///< taken for a pointer
  unsigned cluster;    ///< 0: the launch has none
  bool waitsItself;    ///< programmatic stream serialization
  bool cooperative;    ///< all blocks are resident together
};

/// An encoded tensor map is its arguments.
struct TensorMap {
  uint64_t base, extents[2], stride;
  uint32_t box[2], steps[2];
  uint32_t type, rank, interleave, swizzle, promotion, fill;
};
static_assert(sizeof(TensorMap) <= sizeof(CUtensorMap));

struct Layout {
  uint64_t magic, type, rows, columns, ld;
};

struct Operation {
  uint64_t magic, compute, scale, transposeA, transposeB, epilogue, bias;
  uint64_t scaleModeA, scaleModeB, scaleA, scaleB;
};

struct Preference {
  uint64_t magic, workspaceBytes, alignment[4], reductionSchemes;
};

struct Heuristic {
  Operation operation;
  Layout a, b, c, d;
  Preference preference;
};

struct Matmul {
  Operation operation;
  Layout a, b, c, d;
  double alpha, beta;
  const void *pointers[4];
  void *workspace;
  size_t workspaceBytes;
  CUstream stream;
  uint64_t algorithm;
  int device; ///< whose context was current
};

inline constexpr int kMaxRecords = 4096;
inline constexpr int kMaxDevices = 8;
/// Of a multiprocessor, and of a block on it at most.
inline constexpr int kSharedBytes = 228 * 1024, kBlockSharedBytes = 227 * 1024;

/// What the fakes shall do, and what they were asked.
struct State {
  std::mutex mutex;
  // Orders.
  int deviceCount;
  int major, minor;
  CUresult initResult, loadResult, launchResult;
  /// Of each device's module, absent where `counterBytes` is 0.
  uint64_t counters[kMaxDevices];
  size_t counterBytes;
  CUresult globalResult, synchroniseResult, downloadResult;
  const char *missingKernel;
  int staticShared;
  int multiprocessors, threads; ///< that one has room for
  /// Of neighbouring multiprocessors, that a cluster may lie on.
  int processorsOfGroup;
  CUresult occupancyResult, encodeResult;
  size_t memoryBytes; ///< of the largest allocation that works
  cublasStatus_t heuristicStatus;
  int heuristicCount;
  // Records.
  int numFunctions, numLaunches, numHeuristics, numMatmuls, numMaps;
  Function functions[kMaxRecords];
  Launch launches[kMaxRecords];
  Heuristic heuristics[kMaxRecords];
  Matmul matmuls[kMaxRecords];
  int allocations, liveAllocations, synchronisations, attributeSets;
  int occupancyQueries, extendedLaunches;
  int pushes, pops, moduleLoads, moduleUnloads, handles;
  int retained[kMaxDevices];
  Context contexts[kMaxDevices];
};

State &state();
/// Forgets all orders and records.
void reset();
/// The calling thread's current context.
CUcontext currentContext();

} // namespace fake

#endif // TENON_UNITTESTS_RUNTIME_FAKES_H
