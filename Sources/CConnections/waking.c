// libmicrohttpd wakes a worker anew for each connection that is resumed, by 8 bytes for the worker's eventfd: a worker that
// waits is scheduled for the first, and the thread that resumes may lose its processor for each. It calls write through the
// dynamic linker, which finds the function of this name in the program first. While a thread gathers, here, each worker is woken
// once, in the end.
#define _GNU_SOURCE
#include "refusals.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

// Thread Sanitizer has a function of this name itself, by which it learns who waits for whom.
#if defined(__linux__) && !__has_feature(thread_sanitizer)

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { most_workers = 64 };

static _Thread_local int is_gathering;
static _Thread_local int gathered[most_workers];
static _Thread_local int gathered_count;

static ssize_t write_now(int descriptor, const void *bytes, size_t count) {
  return syscall(SYS_write, descriptor, bytes, count);
}

__attribute__((visibility("default"))) ssize_t write(int descriptor, const void *bytes, size_t count) {
  if (!is_gathering || count != sizeof(uint64_t)) return write_now(descriptor, bytes, count);
  for (int i = 0; i < gathered_count; i++) {
    if (gathered[i] == descriptor) return (ssize_t)count;
  }
  if (gathered_count == most_workers) return write_now(descriptor, bytes, count);
  gathered[gathered_count++] = descriptor;
  return (ssize_t)count;
}

void understudy_gather_wakes(void) { is_gathering = 1; }

void understudy_send_wakes(void) {
  const uint64_t one = 1;
  is_gathering = 0;
  for (int i = 0; i < gathered_count; i++) (void)write_now(gathered[i], &one, sizeof one);
  gathered_count = 0;
}

#else

void understudy_gather_wakes(void) {}
void understudy_send_wakes(void) {}

#endif
