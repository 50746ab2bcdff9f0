// Files, memory and the clock, where systems differ.
#ifndef UNDERSTUDY_MACHINE_H
#define UNDERSTUDY_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

// Two files or directories take each other's places, in one step. Where the file system can't do that, in two. Returns 0, or
// -1 with the reason in errno.
int understudy_exchange(const char *_Nonnull first, const char *_Nonnull second);

// memmem(3), which Swift hides.
const void *_Nullable understudy_find(const void *_Nonnull bytes, size_t count, const void *_Nonnull sought, size_t length);

// Returns memory that was freed to the system, which malloc keeps otherwise.
void understudy_return_free_memory(void);

// The process's resident memory in bytes; -1 where the system doesn't say.
int64_t understudy_resident_bytes(void);

// How many files the process may have open at once; 512 where the system doesn't say.
uint64_t understudy_open_files(void);

// Raises that number as far as the system lets the process do it.
void understudy_raise_open_files(void);

// Seconds on a clock that nobody sets, some milliseconds late at most.
static inline int64_t understudy_coarse_seconds(void) {
  struct timespec time;
#ifdef __APPLE__
  clock_gettime(CLOCK_MONOTONIC_RAW_APPROX, &time);
#else
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
#endif
  return time.tv_sec;
}

#endif
