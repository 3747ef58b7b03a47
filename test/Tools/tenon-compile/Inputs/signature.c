/* Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Calls a model in the ways that its header has: whole, in two steps, and by
 * its name. */
#include "libmodel.h"

#include <stdio.h>
#include <stdlib.h>

static float x[2 * 64], w[32 * 64], y[2 * 32];

static DLTensor matrix(float *data, int64_t *shape) {
  DLTensor tensor = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
  return tensor;
}

static void check(TenonStatus status) {
  if (status == TENON_OK)
    return;
  fprintf(stderr, "%s\n", tenonLastError());
  exit(1);
}

static void *allocate(size_t bytes) {
  return bytes ? aligned_alloc(256, (bytes + 255) / 256 * 256) : NULL;
}

static void show(const char *what) {
  printf("%s: %g %g", what, y[0], y[63]);
  for (int i = 0; i < 64; ++i)
    y[i] = -1;
}

int main(void) {
  int64_t xShape[] = {2, 64}, wShape[] = {32, 64}, yShape[] = {2, 32};
  DLTensor tx = matrix(x, xShape), tw = matrix(w, wShape),
           ty = matrix(y, yShape);
  for (int i = 0; i < 2 * 64; ++i)
    x[i] = 1;
  for (int i = 0; i < 32 * 64; ++i)
    w[i] = 0.5f;

  size_t bytes, preparedBytes;
  check(model_forward_workspace_size(&tx, &tw, &bytes));
  void *workspace = allocate(bytes);
  check(model_forward(&tx, &tw, &ty, workspace, bytes, NULL));
  show("one call");
  free(workspace);

  check(model_forward_prepare_workspace_size(&tw, &preparedBytes, &bytes));
  printf(", prepared: %zu bytes\n", preparedBytes);
  void *prepared = allocate(preparedBytes);
  workspace = allocate(bytes);
  check(model_forward_prepare(&tw, prepared, preparedBytes, workspace, bytes,
                              NULL));
  free(workspace);
  check(model_forward_run_workspace_size(&tx, &tw, &bytes));
  workspace = allocate(bytes);
  check(model_forward_run(&tx, &tw, &ty, prepared, preparedBytes, workspace,
                          bytes, NULL));
  show("two calls");
  free(workspace);
  free(prepared);

  TenonModel *model;
  TenonFunction *function;
  const DLTensor *inputs[] = {&tx, &tw};
  DLTensor *outputs[] = {&ty};
  check(tenonModelFromImage(&model_image, &model));
  check(tenonModelFunction(model, "forward", &function));
  check(tenonFunctionWorkspaceSize(function, inputs, 2, &bytes));
  workspace = allocate(bytes);
  check(tenonFunctionRun(function, inputs, 2, outputs, 1, workspace, bytes,
                         NULL));
  show("\nby name");
  free(workspace);
  tenonModelClose(model);
  return 0;
}
