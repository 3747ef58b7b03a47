//===- BlasLtTest.cpp - Products by the fake cuBLASLt ---------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "Fakes.h"
#include "TestSupport.h"

#include <cmath>
#include <cstdlib>

using namespace tenon::test;

namespace {

TenonBlasLtPlan plan;
const float *scales[2];
int products;

float *data(void **descriptors, int tensor) {
  return static_cast<float **>(descriptors[tensor])[1];
}

/// f(x, w, bias, c) -> y by `plan`.
void gpuCode(TenonCall *call, void **d, void *workspace) {
  int64_t m = static_cast<int64_t *>(d[0])[3];
  for (int i = 0; i < products; ++i)
    tenonBlasLtRun(call, &plan, m, data(d, 0), data(d, 1), scales[0], scales[1],
                   plan.hasBias ? data(d, 2) : nullptr,
                   plan.beta != 0 ? data(d, 3) : nullptr, data(d, 4),
                   workspace);
}

int64_t workspace(void **) { return kTenonBlasLtWorkspaceBytes; }

std::string manifest(const char *dtype = "float32") {
  auto tensor = [&](const char *name, const char *shape) {
    return std::string(R"({"name":")") + name + R"(","dtype":")" + dtype +
           R"(","shape":)" + shape + "}";
  };
  return oneFunction(
      tensor("x", R"(["m","k"])") + "," + tensor("w", R"(["n","k"])") + "," +
          tensor("bias", R"(["n"])") + "," + tensor("c", R"(["m","n"])"),
      tensor("y", R"(["m","n"])"), R"("cuda":["sm_90a"])");
}

class BlasLt : public testing::Test {
protected:
  BlasLt() {
    fake::reset();
    plan = {4,
            5,
            kTenonF32,
            kTenonF32,
            kTenonComputeF32,
            kTenonEpilogueNone,
            0,
            0,
            kTenonScalesNone,
            1.0,
            0.0};
    scales[0] = scales[1] = nullptr;
    products = 1;
    made = std::make_unique<TestModel>(
        manifest(), std::vector<TenonFunctionImage>{
                        {nullptr, nullptr, gpuCode, workspace}});
    function = made->function("f");
    fill(x.floats(), 15);
    fill(w.floats(), 20);
    fill(bias.floats(), 4);
    fill(c.floats(), 12);
  }

  static void fill(float *values, int count) {
    for (int i = 0; i < count; ++i)
      values[i] = static_cast<float>(std::sin(1.7 * i + count));
  }

  TenonStatus call() {
    return run(function, {&x.dl, &w.dl, &bias.dl, &c.dl}, {&y.dl},
               scratch.dl.data, kTenonBlasLtWorkspaceBytes, stream);
  }

  /// The specification of tenonBlasLtRun, by loops.
  void expectRight() {
    int64_t m = x.dl.shape[0], n = plan.n, k = plan.k;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        bool turnsX = plan.transposed & kTenonXTransposed;
        bool turnsW = plan.transposed & kTenonWTransposed;
        for (int64_t l = 0; l < k; ++l)
          sum += x.floats()[turnsX ? l * m + i : i * k + l] *
                 w.floats()[turnsW ? l * n + j : j * k + l];
        double value = plan.alpha * sum + plan.beta * c.floats()[i * n + j] +
                       (plan.hasBias ? bias.floats()[j] : 0);
        if (plan.activation == kTenonEpilogueRelu)
          value = std::max(value, 0.0);
        EXPECT_NEAR(y.floats()[i * n + j], value, 1e-5) << i << ", " << j;
      }
  }

  std::unique_ptr<TestModel> made;
  TenonFunction *function;
  Tensor x{{3, 5}, kGpu0}, w{{4, 5}, kGpu0}, bias{{4}, kGpu0}, c{{3, 4}, kGpu0};
  Tensor y{{3, 4}, kGpu0}, scratch{{kTenonBlasLtWorkspaceBytes / 4}, kGpu0};
  void *stream = reinterpret_cast<void *>(0x9);
  fake::State &gpu = fake::state();
};

} // namespace

TEST_F(BlasLt, ComputesTheProduct) {
  ASSERT_WORKS(call());
  expectRight();
  const fake::Matmul &matmul = gpu.matmuls[0];
  EXPECT_EQ(matmul.operation.transposeA, 1u);
  EXPECT_EQ(matmul.operation.compute, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(matmul.operation.scale, CUDA_R_32F);
  EXPECT_EQ(matmul.operation.epilogue, CUBLASLT_EPILOGUE_DEFAULT);
  using Numbers = std::vector<uint64_t>;
  auto layout = [](const fake::Layout &l) {
    return Numbers{l.rows, l.columns, l.ld};
  };
  EXPECT_EQ(layout(matmul.a), (Numbers{5, 4, 5}));
  EXPECT_EQ(layout(matmul.b), (Numbers{5, 3, 5}));
  EXPECT_EQ(layout(matmul.c), (Numbers{4, 3, 4}));
  EXPECT_EQ(layout(matmul.d), (Numbers{4, 3, 4}));
  EXPECT_EQ(matmul.stream, stream);
  EXPECT_EQ(matmul.workspace, scratch.dl.data);
  EXPECT_EQ(matmul.workspaceBytes, size_t(kTenonBlasLtWorkspaceBytes));
}

TEST_F(BlasLt, TakesTransposedOperands) {
  for (int transposed : {int(kTenonXTransposed), int(kTenonWTransposed),
                         kTenonXTransposed | kTenonWTransposed}) {
    // A plan is a constant of a model; a new one needs a new model.
    plan.transposed = transposed;
    made = std::make_unique<TestModel>(
        manifest(), std::vector<TenonFunctionImage>{
                        {nullptr, nullptr, gpuCode, workspace}});
    function = made->function("f");
    ASSERT_WORKS(call());
    expectRight();
  }
}

TEST_F(BlasLt, AppliesAlphaBetaBiasAndActivation) {
  plan.alpha = -1.5;
  plan.beta = 1;
  plan.hasBias = 1;
  plan.activation = kTenonEpilogueRelu;
  ASSERT_WORKS(call());
  expectRight();
  EXPECT_EQ(gpu.matmuls[0].operation.epilogue, CUBLASLT_EPILOGUE_RELU_BIAS);
  EXPECT_EQ(gpu.matmuls[0].alpha, -1.5);
  EXPECT_EQ(gpu.matmuls[0].pointers[2], c.dl.data);
}

TEST_F(BlasLt, NamesEveryEpilogueToCublasLt) {
  struct Case {
    TenonBlasLtEpilogue activation;
    int bias;
    cublasLtEpilogue_t expected;
  };
  for (auto [activation, hasBias, expected] :
       {Case{kTenonEpilogueNone, 1, CUBLASLT_EPILOGUE_BIAS},
        Case{kTenonEpilogueRelu, 0, CUBLASLT_EPILOGUE_RELU},
        Case{kTenonEpilogueGeluTanh, 0, CUBLASLT_EPILOGUE_GELU},
        Case{kTenonEpilogueGeluTanh, 1, CUBLASLT_EPILOGUE_GELU_BIAS}}) {
    // A plan is a constant of a model; a new one needs a new model.
    plan.activation = activation;
    plan.hasBias = hasBias;
    TestModel fresh(manifest(), {{nullptr, nullptr, gpuCode, workspace}});
    function = fresh.function("f");
    ASSERT_WORKS(call());
    EXPECT_EQ(gpu.matmuls[gpu.numMatmuls - 1].operation.epilogue, expected);
  }
}

TEST_F(BlasLt, NamesEveryTypeToCublasLt) {
  struct Case {
    TenonDType in, out;
    TenonCompute compute;
    cudaDataType inType, outType;
    cublasComputeType_t computeType;
    cudaDataType scale;
  };
  for (const Case &test :
       {Case{kTenonF32, kTenonF32, kTenonComputeTF32, CUDA_R_32F, CUDA_R_32F,
             CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F},
        Case{kTenonF32, kTenonF32, kTenonComputeBF16, CUDA_R_32F, CUDA_R_32F,
             CUBLAS_COMPUTE_32F_FAST_16BF, CUDA_R_32F},
        Case{kTenonF32, kTenonF32, kTenonComputeF16, CUDA_R_32F, CUDA_R_32F,
             CUBLAS_COMPUTE_32F_FAST_16F, CUDA_R_32F},
        Case{kTenonF16, kTenonF16, kTenonComputeF32, CUDA_R_16F, CUDA_R_16F,
             CUBLAS_COMPUTE_32F, CUDA_R_32F},
        Case{kTenonBF16, kTenonF32, kTenonComputeF32, CUDA_R_16BF, CUDA_R_32F,
             CUBLAS_COMPUTE_32F, CUDA_R_32F}}) {
    plan.inputType = test.in;
    plan.outputType = test.out;
    plan.compute = test.compute;
    TestModel fresh(manifest(), {{nullptr, nullptr, gpuCode, workspace}});
    function = fresh.function("f");
    ASSERT_WORKS(call());
    const fake::Matmul &matmul = gpu.matmuls[gpu.numMatmuls - 1];
    EXPECT_EQ(matmul.a.type, uint64_t(test.inType));
    EXPECT_EQ(matmul.b.type, uint64_t(test.inType));
    EXPECT_EQ(matmul.d.type, uint64_t(test.outType));
    EXPECT_EQ(matmul.operation.compute, uint64_t(test.computeType));
    EXPECT_EQ(matmul.operation.scale, uint64_t(test.scale));
  }
}

TEST_F(BlasLt, ScalesDoublesInDouble) {
  plan.inputType = plan.outputType = kTenonF64;
  plan.compute = kTenonComputeF64;
  plan.alpha = 1 + 1e-12; // lost in a float
  TestModel doubles(manifest("float64"),
                    {{nullptr, nullptr, gpuCode, workspace}});
  function = doubles.function("f");
  Tensor x64({3, 5}, kGpu0, kF64), w64({4, 5}, kGpu0, kF64);
  Tensor bias64({4}, kGpu0, kF64), c64({3, 4}, kGpu0, kF64);
  Tensor y64({3, 4}, kGpu0, kF64);
  x64.doubles()[0] = w64.doubles()[0] = 1;
  ASSERT_WORKS(run(function, {&x64.dl, &w64.dl, &bias64.dl, &c64.dl}, {&y64.dl},
                   scratch.dl.data, kTenonBlasLtWorkspaceBytes));
  EXPECT_EQ(y64.doubles()[0], plan.alpha);
  EXPECT_EQ(gpu.matmuls[0].operation.compute, CUBLAS_COMPUTE_64F);
  EXPECT_EQ(gpu.matmuls[0].operation.scale, CUDA_R_64F);
}

TEST_F(BlasLt, AddsNoPartialSumsIn16Bits) {
  for (auto [out, expected] :
       {std::pair{kTenonF16, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE},
        std::pair{kTenonBF16, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE},
        std::pair{kTenonF32, CUBLASLT_REDUCTION_SCHEME_MASK}}) {
    plan.outputType = out;
    TestModel fresh(manifest(), {{nullptr, nullptr, gpuCode, workspace}});
    function = fresh.function("f");
    ASSERT_WORKS(call());
    EXPECT_EQ(gpu.heuristics[gpu.numHeuristics - 1].preference.reductionSchemes,
              uint64_t(expected));
  }
}

static std::vector<uint64_t> alignments(const fake::Preference &preference) {
  return {preference.alignment, preference.alignment + 4};
}

TEST_F(BlasLt, AsksTheHeuristicOncePerShapeAndAlignment) {
  products = 3;
  ASSERT_WORKS(call());
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.numHeuristics, 1);
  EXPECT_EQ(gpu.numMatmuls, 6);
  const fake::Preference &first = gpu.heuristics[0].preference;
  EXPECT_EQ(first.workspaceBytes, uint64_t(kTenonBlasLtWorkspaceBytes));
  EXPECT_EQ(alignments(first), (std::vector<uint64_t>{256, 256, 256, 256}));
  // Another M.
  x.dl.shape[0] = c.dl.shape[0] = y.dl.shape[0] = 2;
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.numHeuristics, 2);
  EXPECT_EQ(gpu.matmuls[gpu.numMatmuls - 1].algorithm, 1u);
  // Another alignment of x: a row further, 20 bytes.
  x.dl.byte_offset = 20;
  ASSERT_WORKS(call());
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.numHeuristics, 3);
  EXPECT_EQ(alignments(gpu.heuristics[2].preference),
            (std::vector<uint64_t>{256, 4, 256, 256}));
  // The first shape is still known, on this device only.
  x.dl.byte_offset = 0;
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.numHeuristics, 3);
  for (Tensor *tensor : {&x, &w, &bias, &c, &y})
    tensor->dl.device = kGpu1;
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.numHeuristics, 4);
  EXPECT_EQ(gpu.matmuls[gpu.numMatmuls - 1].device, 1);
}

TEST_F(BlasLt, EachCallHasItsOwnBias) {
  plan.hasBias = 1;
  ASSERT_WORKS(call());
  expectRight();
  EXPECT_EQ(gpu.heuristics[0].operation.bias, uint64_t(bias.dl.data));
  Tensor other({4}, kGpu0);
  fill(other.floats(), 4);
  other.floats()[0] = 100;
  ASSERT_WORKS(run(function, {&x.dl, &w.dl, &other.dl, &c.dl}, {&y.dl},
                   scratch.dl.data, kTenonBlasLtWorkspaceBytes));
  EXPECT_EQ(gpu.numHeuristics, 1);
  EXPECT_GT(y.floats()[0], 90);
  // cuBLASLt reads the alignment of a bias from its pointer.
  bias.dl.byte_offset = 4;
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.numHeuristics, 2);
}

TEST_F(BlasLt, GivesScalesOfBytes) {
  plan.inputType = kTenonF8_E4M3;
  plan.outputType = kTenonBF16;
  plan.scales = kTenonScalesTensor;
  EXPECT_FAILS(call(), TENON_INVALID_ARGUMENT,
               "(float8_e4m3fn to bfloat16, computed in fp32, scaled) is given "
               "no scales");
  float numbers[2];
  scales[0] = numbers, scales[1] = numbers + 1;
  ASSERT_WORKS(call());
  // cuBLASLt's A is w.
  EXPECT_EQ(gpu.matmuls[0].operation.scaleA, uint64_t(numbers + 1));
  EXPECT_EQ(gpu.matmuls[0].operation.scaleB, uint64_t(numbers));
  EXPECT_EQ(gpu.matmuls[0].operation.scaleModeA,
            CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F);
  scales[0] = numbers + 1;
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.matmuls[1].operation.scaleB, uint64_t(numbers + 1));
  EXPECT_EQ(gpu.numHeuristics, 1);
}

TEST_F(BlasLt, GivesScalesOfRows) {
  plan.inputType = kTenonF8_E4M3;
  plan.outputType = kTenonBF16;
  plan.scales = kTenonScalesRows;
  float numbers[2];
  scales[0] = numbers, scales[1] = numbers + 1;
  ASSERT_WORKS(call());
  for (uint64_t mode : {gpu.heuristics[0].operation.scaleModeA,
                        gpu.heuristics[0].operation.scaleModeB})
    EXPECT_EQ(mode, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
}

TEST_F(BlasLt, AllocatesNothing) {
  plan.hasBias = 1;
  ASSERT_WORKS(call());
  const DLTensor *inputs[] = {&x.dl, &w.dl, &bias.dl, &c.dl};
  DLTensor *outputs[] = {&y.dl};
  int64_t before = allocationCount();
  EXPECT_WORKS(tenonFunctionRun(function, inputs, 4, outputs, 1,
                                scratch.dl.data, kTenonBlasLtWorkspaceBytes,
                                stream));
  EXPECT_EQ(allocationCount(), before);
  EXPECT_EQ(gpu.allocations + gpu.synchronisations, 0);
}

TEST_F(BlasLt, EmptyBatch) {
  x.dl.shape[0] = c.dl.shape[0] = y.dl.shape[0] = 0;
  x.dl.data = c.dl.data = y.dl.data = nullptr; // as PyTorch has them
  plan.beta = 1;
  EXPECT_WORKS(call());
  EXPECT_EQ(gpu.numMatmuls + gpu.numHeuristics, 0);
}

TEST_F(BlasLt, EmptySum) {
  plan.k = x.dl.shape[1] = w.dl.shape[1] = 0;
  plan.alpha = INFINITY; // times an empty sum is still nothing
  plan.beta = plan.hasBias = 1;
  plan.activation = kTenonEpilogueRelu;
  x.dl.data = w.dl.data = nullptr;
  std::fill_n(scratch.floats(), 64, NAN);
  ASSERT_WORKS(call());
  EXPECT_EQ(gpu.matmuls[0].alpha, 0);
  EXPECT_LE(static_cast<char *>(gpu.matmuls[0].workspace) +
                gpu.matmuls[0].workspaceBytes,
            static_cast<char *>(scratch.dl.data) + kTenonBlasLtWorkspaceBytes);
  plan.alpha = 0; // for the reference
  expectRight();
}

TEST_F(BlasLt, SaysWhatCublasLtCannotDo) {
  gpu.heuristicStatus = CUBLAS_STATUS_NOT_SUPPORTED;
  plan.activation = kTenonEpilogueGeluTanh;
  EXPECT_FAILS(call(), TENON_UNSUPPORTED,
               "f: cuBLASLt has no algorithm for y[3, 4] = x[3, 5] w^T "
               "(float32 to float32, computed in fp32, gelu) on GPU 0; compile "
               "the model with the tiled strategy");
  gpu.heuristicStatus = CUBLAS_STATUS_SUCCESS;
  gpu.heuristicCount = 0;
  EXPECT_FAILS(call(), TENON_UNSUPPORTED, "cuBLASLt has no algorithm for");
  gpu.heuristicStatus = CUBLAS_STATUS_INTERNAL_ERROR;
  EXPECT_FAILS(call(), TENON_DEVICE_ERROR,
               "f: cublasLtMatmulAlgoGetHeuristic failed on GPU 0");
  gpu.heuristicStatus = CUBLAS_STATUS_SUCCESS;
  gpu.heuristicCount = 1;
  EXPECT_WORKS(call()); // a failure is not kept
}

TEST_F(BlasLt, ChecksItsOperands) {
  plan.beta = 1;
  plan.hasBias = 1;
  bias.dl.data = nullptr;
  bias.dl.shape[0] = w.dl.shape[0] = c.dl.shape[1] = y.dl.shape[1] = 0;
  EXPECT_FAILS(call(), TENON_INVALID_ARGUMENT, "is given no bias");
  plan.n = -1;
  EXPECT_FAILS(call(), TENON_INVALID_ARGUMENT, "N -1");
}

//===----------------------------------------------------------------------===//
// Without the library
//===----------------------------------------------------------------------===//

using BlasLtDeathTest = BlasLt;

TEST_F(BlasLtDeathTest, NoLibrary) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("TENON_LIBCUBLASLT", "/no/libcublasLt.so", 1);
        TenonStatus status = call();
        fprintf(stderr, "%s\n", tenonLastError());
        _exit(status);
      },
      testing::ExitedWithCode(TENON_NOT_FOUND),
      "no cuBLASLt: TENON_LIBCUBLASLT=/no/libcublasLt.so.*LD_LIBRARY_PATH");
}
