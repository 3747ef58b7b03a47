//===- TestModel.cpp - A compiled model, by hand --------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tenon-compile would make for y = 2 x, as far as the runtime can tell.
// Compiled twice, once with a format version from the future.
//
//===----------------------------------------------------------------------===//

#include "tenon/Runtime/Runtime.h"

#ifndef TEST_MODEL_VERSION
#define TEST_MODEL_VERSION kTenonImageVersion
#endif

static void twice(TenonCall *, void **descriptors, void *) {
  struct Matrix {
    float *allocated, *aligned;
    int64_t offset, sizes[2], strides[2];
  };
  auto *x = static_cast<Matrix *>(descriptors[0]);
  auto *y = static_cast<Matrix *>(descriptors[1]);
  for (int64_t i = 0; i < x->sizes[0] * x->sizes[1]; ++i)
    y->aligned[i] = 2 * x->aligned[i];
}

static const TenonFunctionImage functions[] = {
    {twice, nullptr, nullptr, nullptr}};

extern "C" const TenonModelImage tenon_model_image;
const TenonModelImage tenon_model_image = {
    TEST_MODEL_VERSION,
    1,
    R"({"tenon":"0.1.0","name":"twice","cpu":"x86-64","kernels":[],"functions":[
        {"name":"twice","inputs":[{"name":"x","dtype":"float32","shape":["m",4],
        "role":"activation"}],"outputs":[{"name":"y0","dtype":"float32",
        "shape":["m",4]}]}],
        "entries":[{"name":"twice","inputs":["x"],"run":"twice"}]})",
    functions,
    nullptr,
    0,
    nullptr,
    0};
