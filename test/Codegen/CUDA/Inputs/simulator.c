/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs a kernel that was compiled for the CPU: blocks one after the other, each
 * thread of a block as a thread. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { kMaxArguments = 14 };
typedef void (*Kernel)(void *, void *, void *, void *, void *, void *, void *,
                       void *, void *, void *, void *, void *, void *, void *);
typedef struct {
  Kernel kernel;
  void **arguments;
  int thread, blocks;
} Job;

enum { kWarpThreads = 32, kMaxWarps = 32 };
typedef struct {
  pthread_barrier_t barrier;
  int values[kWarpThreads];
} Warp;

static __thread int currentThread;
static int currentBlock;
static pthread_barrier_t barrier;
static Warp warps[kMaxWarps];

int simTid(void) { return currentThread; }
int simCtaid(void) { return currentBlock; }
void simBarrier(void) { pthread_barrier_wait(&barrier); }

static int redux(int value, int (*combine)(int, int)) {
  Warp *warp = &warps[currentThread / kWarpThreads];
  warp->values[currentThread % kWarpThreads] = value;
  pthread_barrier_wait(&warp->barrier);
  int result = warp->values[0];
  for (int i = 1; i != kWarpThreads; ++i)
    result = combine(result, warp->values[i]);
  pthread_barrier_wait(&warp->barrier);
  return result;
}
static int maximum(int a, int b) { return a < b ? b : a; }
static int sum(int a, int b) { return a + b; }
int simReduxMax(int value, int mask) { return redux(value, maximum); }
int simReduxAdd(int value, int mask) { return redux(value, sum); }

float __nv_expf(float x) { return expf(x); }
float __nv_tanhf(float x) { return tanhf(x); }
float __nv_fabsf(float x) { return fabsf(x); }
double __nv_exp(double x) { return exp(x); }
double __nv_erf(double x) { return erf(x); }

static void *run(void *pointer) {
  Job *job = pointer;
  void **a = job->arguments;
  currentThread = job->thread;
  for (int block = 0; block != job->blocks; ++block) {
    if (currentThread == 0)
      currentBlock = block;
    simBarrier();
    job->kernel(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9],
                a[10], a[11], a[12], a[13]);
    simBarrier();
  }
  return NULL;
}

int simLaunch(Kernel kernel, void **arguments, int blocks, int threads) {
  pthread_t *handles = malloc(sizeof(*handles) * threads);
  Job *jobs = malloc(sizeof(*jobs) * threads);
  pthread_barrier_init(&barrier, NULL, threads);
  for (int i = 0; i != threads / kWarpThreads; ++i)
    pthread_barrier_init(&warps[i].barrier, NULL, kWarpThreads);
  for (int i = 0; i != threads; ++i) {
    jobs[i] = (Job){kernel, arguments, i, blocks};
    if (pthread_create(&handles[i], NULL, run, &jobs[i]))
      abort();
  }
  for (int i = 0; i != threads; ++i)
    pthread_join(handles[i], NULL);
  pthread_barrier_destroy(&barrier);
  for (int i = 0; i != threads / kWarpThreads; ++i)
    pthread_barrier_destroy(&warps[i].barrier);
  free(handles);
  free(jobs);
  return 0;
}
