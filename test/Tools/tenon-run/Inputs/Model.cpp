//===----------------------------------------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled model, by hand, with what tests of tenon-run need:
//   forward   y0 = 2 x w^T, whose prepare doubles w; with a reference
//   wrong     y0 = 1.001 x, y1 = x; with a reference that says x
//   small     y0 = x but for element 7, which is 0, y1 = x; with a reference
//   that
//             says x, and bounds of some roundings
//   broken    y0 is left unwritten, y1 is infinite; with a reference
//   copy      outputs equal to inputs of every dtype and rank
//   positive  y0 = running_var; no reference
// -DGPU gives the same code for a GPU, whose memory must be host memory.
//
//===----------------------------------------------------------------------===//

#include "tenon/Runtime/Runtime.h"

#include <cmath>
#include <cstring>

/// Of a matrix; those of lower rank are read no further than their data.
struct Descriptor {
  void *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];

  template <typename T> T *data() { return static_cast<T *>(aligned); }
};

static Descriptor &at(void **descriptors, int index) {
  return *static_cast<Descriptor *>(descriptors[index]);
}

template <typename T>
static void product(Descriptor &x, Descriptor &w, Descriptor &y, T factor) {
  for (int64_t i = 0; i < x.sizes[0]; ++i)
    for (int64_t j = 0; j < w.sizes[0]; ++j) {
      T sum = 0;
      for (int64_t k = 0; k < w.sizes[1]; ++k)
        sum += T(x.data<float>()[i * w.sizes[1] + k]) *
               w.data<float>()[j * w.sizes[1] + k];
      y.data<T>()[i * w.sizes[0] + j] = factor * sum;
    }
}

static void prepare(TenonCall *, void **descriptors, void *) {
  Descriptor &w = at(descriptors, 0), &doubled = at(descriptors, 1);
  for (int64_t i = 0; i < w.sizes[0] * w.sizes[1]; ++i)
    doubled.data<float>()[i] = 2 * w.data<float>()[i];
}

static void forward(TenonCall *, void **descriptors, void *workspace) {
  *static_cast<float *>(workspace) = 1; // there are 4 bytes of it
  product<float>(at(descriptors, 0), at(descriptors, 1), at(descriptors, 2), 1);
}

static void forwardReference(TenonCall *, void **descriptors, void *) {
  product<double>(at(descriptors, 0), at(descriptors, 1), at(descriptors, 2),
                  2);
}

static void wrong(TenonCall *, void **descriptors, void *) {
  for (int64_t i = 0; i < 100; ++i) {
    float x = at(descriptors, 0).data<float>()[i];
    at(descriptors, 1).data<float>()[i] = 1.001 * x;
    at(descriptors, 2).data<float>()[i] = x;
  }
}

static void small(TenonCall *, void **descriptors, void *) {
  for (int64_t i = 0; i < 100; ++i) {
    float x = at(descriptors, 0).data<float>()[i];
    at(descriptors, 1).data<float>()[i] = i == 7 ? 0 : x;
    at(descriptors, 2).data<float>()[i] = x;
  }
}

static void smallBounds(TenonCall *, void **descriptors, void *) {
  for (int64_t i = 0; i < 100; ++i)
    for (int output = 1; output <= 2; ++output)
      at(descriptors, output).data<double>()[i] =
          1e-6 * std::abs(at(descriptors, 0).data<float>()[i]);
}

static void broken(TenonCall *, void **descriptors, void *) {
  for (int64_t i = 0; i < 100; ++i)
    at(descriptors, 2).data<float>()[i] = INFINITY;
}

static void identityReference(TenonCall *, void **descriptors, void *) {
  for (int64_t i = 0; i < 100; ++i)
    for (int output = 1; output <= 2; ++output)
      at(descriptors, output).data<double>()[i] =
          at(descriptors, 0).data<float>()[i];
}

static void copy(TenonCall *, void **descriptors, void *) {
  constexpr size_t bytes[] = {2 * 3, 2 * 3, 8 * 6, 4};
  for (int i = 0; i < 4; ++i)
    memcpy(at(descriptors, 4 + i).aligned, at(descriptors, i).aligned,
           bytes[i]);
}

static void positive(TenonCall *, void **descriptors, void *) {
  memcpy(at(descriptors, 1).aligned, at(descriptors, 0).aligned, 4000);
}

static int64_t fourBytes(void **) { return 4; }

#ifdef GPU
#define CUDA(entry) entry
#define CUDA_TARGETS                                                           \
  R"("cuda":["sm_90a"],"ptx":"sm_80","kernels":["epilogue"],)"
#else
#define CUDA(entry) nullptr
#define CUDA_TARGETS R"("kernels":[],)"
#endif

static const TenonFunctionImage functions[] = {
    {prepare, nullptr, CUDA(prepare), nullptr},
    {forward, fourBytes, CUDA(forward), CUDA(fourBytes)},
    {forwardReference, nullptr, nullptr, nullptr},
    {wrong, nullptr, CUDA(wrong), nullptr},
    {identityReference, nullptr, nullptr, nullptr},
    {broken, nullptr, CUDA(broken), nullptr},
    {identityReference, nullptr, nullptr, nullptr},
    {copy, nullptr, CUDA(copy), nullptr},
    {positive, nullptr, CUDA(positive), nullptr},
    {small, nullptr, CUDA(small), nullptr},
    {smallBounds, nullptr, nullptr, nullptr}};

#define TENSOR(name, dtype, shape, role)                                       \
  R"({"name":")" name R"(","dtype":")" dtype R"(","shape":[)" shape            \
  R"(],"role":")" role R"("})"
#define OUTPUT(name, dtype, shape)                                             \
  R"({"name":")" name R"(","dtype":")" dtype R"(","shape":[)" shape "]}"
#define FUNCTION(name, inputs, outputs)                                        \
  R"({"name":")" name R"(","inputs":[)" inputs R"(],"outputs":[)" outputs "]}"
#define X TENSOR("x", "float32", R"("m",64)", "activation")
#define W TENSOR("w", "float32", "32,64", "param")
#define TWO(dtype) OUTPUT("y0", dtype, "100") "," OUTPUT("y1", dtype, "100")
#define X100 TENSOR("x", "float32", "100", "activation")

static const char manifest[] =
    R"({"tenon":"0.1.0","name":"handmade","cpu":"x86-64",)" CUDA_TARGETS R"("functions":[)" FUNCTION("forward_prepare",
                                                                                                     W,
                                                                                                     OUTPUT(
                                                                                                         "y0",
                                                                                                         "float32", "32,64")) "," FUNCTION("forward_run", X "," TENSOR("prepared1", "float32", "32,64", "prepared"), OUTPUT("y0", "float32", R"("m",32)")) "," FUNCTION("forward_reference",
                                                                                                                                                                                                                                                                        X
                                                                                                                                                                                                                                                                        "," W,
                                                                                                                                                                                                                                                                        OUTPUT("y0",
                                                                                                                                                                                                                                                                               "float64",
                                                                                                                                                                                                                                                                               R"("m",32)")) "," FUNCTION("wrong", X100,
                                                                                                                                                                                                                                                                                                          OUTPUT("y0",
                                                                                                                                                                                                                                                                                                                 "float32",
                                                                                                                                                                                                                                                                                                                 "100") "," OUTPUT("y1",
                                                                                                                                                                                                                                                                                                                                   "float32", "100")) "," FUNCTION("wrong_reference",
                                                                                                                                                                                                                                                                                                                                                                   X100,
                                                                                                                                                                                                                                                                                                                                                                   OUTPUT(
                                                                                                                                                                                                                                                                                                                                                                       "y0", "float64", "100") "," OUTPUT("y1", "float64", "100")) "," FUNCTION("broken",
                                                                                                                                                                                                                                                                                                                                                                                                                                                X100,
                                                                                                                                                                                                                                                                                                                                                                                                                                                OUTPUT(
                                                                                                                                                                                                                                                                                                                                                                                                                                                    "y0",
                                                                                                                                                                                                                                                                                                                                                                                                                                                    "float32", "100") "," OUTPUT("y1",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 "float32", "100")) "," FUNCTION("broken_reference",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 X100,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 OUTPUT("y0",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                        "float64",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                        "100") "," OUTPUT("y1",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                          "float64", "100")) "," FUNCTION("copy",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                          TENSOR(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "a", "float16", "3", "activation") "," TENSOR("b", "bfloat16", "3", "activation") "," TENSOR("c", "float64", "2,3", "activation") "," TENSOR("d", "float32", "", "activation"),
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                          OUTPUT(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "a_out",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                              "float16", "3") "," OUTPUT("b_out",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "bfloat16",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "3") "," OUTPUT("c_out", "float64", "2,3") "," OUTPUT("d_out", "float32", "")) "," FUNCTION("positive",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     TENSOR(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "running_var",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "float32",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "1000", "param"),
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                     OUTPUT(
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "y0",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                         "float32", "1000")) "," FUNCTION("small",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                          X100,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                          TWO("float32")) "," FUNCTION("small_bounds",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       X100,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       TWO("float64")) R"(],"entries":[
    {"name":"forward","inputs":["x","w"],"prepare":"forward_prepare",
     "run":"forward_run","precision":"tf32"},
    {"name":"wrong","inputs":["x"],"run":"wrong"},
    {"name":"small","inputs":["x"],"run":"small",
     "reference":"wrong_reference","bounds":"small_bounds"},
    {"name":"broken","inputs":["x"],"run":"broken"},
    {"name":"copy","inputs":["a","b","c","d"],"run":"copy"},
    {"name":"positive","inputs":["running_var"],"run":"positive"}]})";

extern "C" const TenonModelImage tenon_model_image;
const TenonModelImage tenon_model_image = {
    kTenonImageVersion, 11, manifest, functions, "fatbin", 6, nullptr, 0};
