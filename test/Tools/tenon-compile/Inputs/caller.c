/* Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Calls a compiled model through its generated header, as a program in C does.
 */
#include "libmodel.h"

#include <stdio.h>
#include <stdlib.h>

static DLTensor matrix(float *data, int64_t *shape) {
  DLTensor tensor = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
  return tensor;
}

static int failed(TenonStatus status) {
  if (status != TENON_OK)
    fprintf(stderr, "%s\n", tenonLastError());
  return status != TENON_OK;
}

int main(int argc, char **argv) {
  int64_t rows = argc > 1 ? atoi(argv[1]) : 2;
  int64_t features = argc > 2 ? atoi(argv[2]) : 8;
  float x[64], w[32], b[4] = {0, 1, -100, 3}, y[32];
  for (int i = 0; i < 64; ++i)
    x[i] = 1;
  for (int i = 0; i < 32; ++i)
    w[i] = 0.5f;
  int64_t xShape[] = {rows, features}, wShape[] = {4, 8}, bShape[] = {4},
          yShape[] = {rows, 4};
  DLTensor xt = matrix(x, xShape), wt = matrix(w, wShape),
           yt = matrix(y, yShape), bt = matrix(b, bShape);
  bt.ndim = 1;
  size_t bytes;
  if (failed(model_forward_workspace_size(&xt, &wt, &bt, &bytes)))
    return 1;
  void *workspace =
      bytes ? aligned_alloc(256, (bytes + 255) / 256 * 256) : NULL;
  if (failed(model_forward(&xt, &wt, &bt, &yt, workspace, bytes, NULL)))
    return 1;
  for (int i = 0; i < 4; ++i)
    printf("%g ", y[4 * (rows - 1) + i]);
  printf("\n");
  free(workspace);
  return 0;
}
