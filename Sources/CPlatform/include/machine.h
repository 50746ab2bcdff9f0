// These functions are for files, memory and the clock, in which systems differ.
#ifndef UNDERSTUDY_MACHINE_H
#define UNDERSTUDY_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

// Exchanges two files or directories in one step, or in two if the file system can't do it in one. Returns 0, or -1
// with the reason in errno.
int understudy_exchange(const char *_Nonnull first, const char *_Nonnull second);

// Calls memmem(3), which Swift hides.
const void *_Nullable understudy_find(const void *_Nonnull bytes, size_t count, const void *_Nonnull sought, size_t length);

// Gives freed memory back to the system. Otherwise malloc keeps it.
void understudy_return_free_memory(void);

// Returns the process's resident memory in bytes, or -1 if the system doesn't say.
int64_t understudy_resident_bytes(void);

// Returns the number of files that the process may have open at once, or 512 if the system doesn't say.
uint64_t understudy_open_files(void);

// Raises the number of files that the process may have open, as far as the system allows.
void understudy_raise_open_files(void);

// Returns the seconds of a monotonic clock. It may be some milliseconds late.
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
