/*===----------------------------------------------------------------------===*
 *
 * Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * Opens a model, and calls it: 3 relu(x w^T + b), of zeros and a bias.
 *
\*===----------------------------------------------------------------------===*/

#include "tenon-c/Model.h"

#include <stdio.h>
#include <stdlib.h>

static float x[2 * 8], w[4 * 8], b[4] = {1, 2, -3, 4}, y[2 * 4];

static DLTensor tensor(float *data, int32_t rank, int64_t *shape) {
  DLTensor t = {data, {kDLCPU, 0}, rank, {kDLFloat, 32, 1}, shape, NULL, 0};
  return t;
}

int main(int argc, char **argv) {
  int64_t xShape[] = {2, 8}, wShape[] = {4, 8}, bShape[] = {4};
  int64_t yShape[] = {2, 4};
  DLTensor tx = tensor(x, 2, xShape), tw = tensor(w, 2, wShape);
  DLTensor tb = tensor(b, 1, bShape), ty = tensor(y, 2, yShape);
  const DLTensor *inputs[] = {&tx, &tw, &tb};
  DLTensor *outputs[] = {&ty};
  TenonModel *model;
  TenonFunction *function;
  size_t bytes;
  if (argc != 2 || tenonModelOpen(argv[1], &model) ||
      tenonModelFunction(model, "forward", &function) ||
      tenonFunctionWorkspaceSize(function, inputs, 3, &bytes)) {
    puts(tenonLastError());
    return 1;
  }
  void *workspace =
      bytes ? aligned_alloc(256, (bytes + 255) / 256 * 256) : NULL;
  if (tenonFunctionRun(function, inputs, 3, outputs, 1, workspace, bytes,
                       NULL)) {
    puts(tenonLastError());
    return 1;
  }
  for (int i = 0; i < 4; ++i)
    printf("%g ", y[i]);
  free(workspace);
  tenonModelClose(model);
  return 0;
}
