//===- Threads.cpp - tenonParallelFor -------------------------------------===//
//
// Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pool for the process, made at first need and never destroyed. A call puts
// a job, which lives on the caller's stack, in the pool's list; the caller
// works on it too, so that it finishes even if all workers are busy elsewhere.
//
// fork: the child has no workers. A handler forgets the pool there, and the
// child makes its own at first need. A fork while another thread is inside
// tenonParallelFor is safe; one from inside a body leaves the child serial.
//
//===----------------------------------------------------------------------===//

#include "Api.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <thread>

namespace {

struct Job {
  void (*body)(int64_t, void *);
  void *context;
  int64_t count;
  int64_t chunk;
  std::atomic<int64_t> next{0};
  // The rest is guarded by the pool's mutex.
  int workers = 0;
  bool listed = true;
  Job *previous = nullptr, *following = nullptr;
  std::condition_variable finished{};

  /// Runs chunks until none are left.
  void work() {
    for (;;) {
      int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= count)
        return;
      int64_t end = std::min(count, begin + chunk);
      for (int64_t index = begin; index < end; ++index)
        body(index, context);
    }
  }
};

class Pool {
public:
  explicit Pool(int threads);
  void run(Job &job);
  int size() const { return threads; }

private:
  void worker();
  void unlist(Job &job);

  std::mutex mutex;
  std::condition_variable wanted;
  Job *first = nullptr;
  int threads = 1; ///< the caller included
};

} // namespace

/// True while this thread runs bodies; nested calls are serial then.
static thread_local bool isInside = false;

//===----------------------------------------------------------------------===//
// Pool
//===----------------------------------------------------------------------===//

Pool::Pool(int wantedThreads) {
  // Signals are the application's: its own threads should get them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (; threads < wantedThreads; ++threads) {
      std::thread thread([this] { worker(); });
      pthread_setname_np(thread.native_handle(), "tenon");
      thread.detach();
    }
  } catch (const std::exception &) {
    // A limit on processes: go on with those there are.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Pool::unlist(Job &job) {
  if (!job.listed)
    return;
  job.listed = false;
  (job.previous ? job.previous->following : first) = job.following;
  if (job.following)
    job.following->previous = job.previous;
}

void Pool::worker() {
  isInside = true;
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    wanted.wait(lock, [this] { return first != nullptr; });
    Job &job = *first;
    ++job.workers;
    lock.unlock();
    job.work();
    lock.lock();
    unlist(job); // nothing of it is left to take
    // Notified under the lock: the job is gone once its caller has it.
    if (--job.workers == 0)
      job.finished.notify_one();
  }
}

void Pool::run(Job &job) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    job.following = first;
    if (first)
      first->previous = &job;
    first = &job;
  }
  wanted.notify_all();
  isInside = true;
  job.work();
  isInside = false;
  std::unique_lock<std::mutex> lock(mutex);
  unlist(job);
  job.finished.wait(lock, [&] { return job.workers == 0; });
}

//===----------------------------------------------------------------------===//
// The pool of this process
//===----------------------------------------------------------------------===//

static std::atomic<Pool *> pool{nullptr};

static int threadCount() {
  if (const char *text = std::getenv("TENON_NUM_THREADS")) {
    char *end = nullptr;
    long value = std::strtol(text, &end, 10);
    if (end != text && *end == '\0' && value >= 1)
      return static_cast<int>(std::min(value, 1024l));
  }
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
    return std::max(1, CPU_COUNT(&cpus));
  return std::max(1u, std::thread::hardware_concurrency());
}

/// Lock-free, since a fork would leave a lock in the child as it was: of two
/// first callers one makes the pool and the other works alone this once.
static Pool *getPool() {
  static std::atomic<bool> isBeingMade{false};
  Pool *current = pool.load(std::memory_order_acquire);
  if (current || isBeingMade.exchange(true, std::memory_order_acquire))
    return current;
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    pool.store(nullptr);
    isBeingMade.store(false);
  });
  (void)registered;
  current = pool.load(std::memory_order_acquire);
  if (!current) {
    current = new (std::nothrow) Pool(threadCount());
    pool.store(current, std::memory_order_release);
  }
  isBeingMade.store(false, std::memory_order_release);
  return current;
}

static void runSerially(void (*body)(int64_t, void *), int64_t count,
                        void *context) {
  for (int64_t index = 0; index < count; ++index)
    body(index, context);
}

void tenonParallelFor(void (*body)(int64_t index, void *context), int64_t count,
                      void *context) {
  Pool *current = count > 1 && !isInside ? getPool() : nullptr;
  if (!current || current->size() == 1)
    return runSerially(body, count, context);
  // Four chunks a thread even out unequal bodies and unequal cores.
  int64_t chunk = std::max<int64_t>(1, count / (4 * current->size()));
  Job job{body, context, count, chunk};
  current->run(job);
}
