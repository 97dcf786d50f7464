/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unload_test.c: a program that uses the library only as a plug-in. It repeatedly loads, calls and unloads it,
 * also while the thread that called it continues. No thread of the library may be left. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "upsweep/awkward.h"

enum { kLists = 1000000, kThreads = 4 };

typedef struct upsweep_awkward_error (*Function)(int64_t*, const int64_t*, const int64_t*, int64_t);

static const char* library;
static int64_t starts[kLists], stops[kLists], offsets[kLists + 1];

static void fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

/* A thread that has ended stays in the list for a moment after it was joined. */
static int threads_now(void) {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == NULL) fail("no /proc");
  for (struct dirent* task = readdir(tasks); task != NULL; task = readdir(tasks)) count += task->d_name[0] != '.';
  closedir(tasks);
  return count;
}

static int threads(void) {
  int count = threads_now();
  for (int waited = 0; count > 1 && waited < 60000; ++waited) {
    usleep(1000);
    count = threads_now();
  }
  return count;
}

static void call(void* plugin) {
  void* const symbol = dlsym(plugin, "awkward_ListArray64_compact_offsets_64");
  if (symbol == NULL) fail("the function is not exported");
  Function compact = NULL;
  memcpy(&compact, &symbol, sizeof compact); /* ISO C has no cast for it */
  if (compact(offsets, starts, stops, kLists).str != NULL || offsets[kLists] != 3 * (int64_t)kLists) fail("wrong");
}

static void* load(void) {
  void* plugin = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) fail(dlerror());
  return plugin;
}

static void* call_once(void* barrier) {
  void* plugin = load();
  call(plugin);
  pthread_barrier_wait(barrier);
  dlclose(plugin);
  pthread_barrier_wait(barrier); /* the library is now unloaded */
  return NULL;
}

int main(int count, char** arguments) {
  if (count != 2) fail("usage: unload_test LIBRARY");
  library = arguments[1];
  for (int64_t i = 0; i < kLists; ++i) stops[i] = (starts[i] = 10 * i) + 3;
  for (int again = 0; again < 20; ++again) {
    void* plugin = load();
    call(plugin);
    if (again % 2 != 0) usleep(20000);
    if (dlclose(plugin) != 0) fail(dlerror());
    if (threads() != 1) fail("a thread is left");
  }
  pthread_barrier_t barrier;
  pthread_t callers[kThreads];
  pthread_barrier_init(&barrier, NULL, kThreads + 1);
  for (int i = 0; i < kThreads; ++i) pthread_create(&callers[i], NULL, call_once, &barrier);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  if (dlopen(library, RTLD_NOW | RTLD_NOLOAD) != NULL) fail("it is still loaded");
  for (int i = 0; i < kThreads; ++i) pthread_join(callers[i], NULL);
  if (threads() != 1) fail("a thread is left");
  return 0;
}
