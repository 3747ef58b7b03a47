/*===----------------------------------------------------------------------===*
 *
 * Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * Calls libmodel.so, which is linked: 3 relu(x w^T + b) for two rows.
 *
\*===----------------------------------------------------------------------===*/

#include "libmodel.h"
#include "tenon-c/Compiler.h" /* compiles as C, though nothing of it is called */

#include <stdio.h>
#include <stdlib.h>

static float x[2 * 8], w[4 * 8], b[4] = {1, 2, -3, 4}, y[2 * 4];

static DLTensor tensor(float *data, int32_t rank, int64_t *shape) {
  DLTensor t = {data, {kDLCPU, 0}, rank, {kDLFloat, 32, 1}, shape, NULL, 0};
  return t;
}

int main(void) {
  int64_t xShape[] = {2, 8}, wShape[] = {4, 8}, bShape[] = {4};
  int64_t yShape[] = {2, 4};
  DLTensor tx = tensor(x, 2, xShape), tw = tensor(w, 2, wShape);
  DLTensor tb = tensor(b, 1, bShape), ty = tensor(y, 2, yShape);
  size_t bytes;
  x[8] = 1; /* row 1: w[:, 0] is added to b */
  w[0] = 10;
  w[16] = 5;
  if (model_forward_workspace_size(&tx, &tw, &tb, &bytes)) {
    puts(tenonLastError());
    return 1;
  }
  void *workspace =
      bytes ? aligned_alloc(256, (bytes + 255) / 256 * 256) : NULL;
  if (model_forward(&tx, &tw, &tb, &ty, workspace, bytes, NULL)) {
    puts(tenonLastError());
    return 1;
  }
  for (int i = 0; i < 2 * 4; ++i)
    printf("%g ", y[i]);
  free(workspace);
  return 0;
}
