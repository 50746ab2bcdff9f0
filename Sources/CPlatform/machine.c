#define _GNU_SOURCE
#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach/mach.h>
#include <malloc/malloc.h>
#include <sys/stdio.h>
#include <sys/syslimits.h>
#endif
#ifdef __linux__
#include <sys/syscall.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

// MARK: - Files

static int exchange_at_once(const char *first, const char *second) {
#if defined(__APPLE__)
  return renamex_np(first, second, RENAME_SWAP);
#elif defined(SYS_renameat2)
  // The number is RENAME_EXCHANGE of <linux/fs.h>. Not every C library has a function for this call.
  return (int)syscall(SYS_renameat2, AT_FDCWD, first, AT_FDCWD, second, 2);
#else
  errno = ENOSYS;
  return -1;
#endif
}

int understudy_exchange(const char *first, const char *second) {
  if (exchange_at_once(first, second) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return -1;
  char aside[PATH_MAX];
  if (snprintf(aside, sizeof aside, "%s.old", first) >= (int)sizeof aside) {
    errno = ENAMETOOLONG;
    return -1;
  }
  if (rename(second, aside) != 0) return -1;
  if (rename(first, second) == 0) return rename(aside, first);
  int reason = errno;
  rename(aside, second);
  errno = reason;
  return -1;
}

uint64_t understudy_open_files(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 512;
}

void understudy_raise_open_files(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  rlim_t most = limit.rlim_max;
#ifdef __APPLE__
  // The system refuses a larger number, although the limit is unlimited:
  // https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man2/setrlimit.2.html
  if (most > OPEN_MAX) most = OPEN_MAX;
#endif
  if (limit.rlim_cur >= most) return;
  limit.rlim_cur = most;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// MARK: - Memory

const void *understudy_find(const void *bytes, size_t count, const void *sought, size_t length) {
  return memmem(bytes, count, sought, length);
}

void understudy_return_free_memory(void) {
#if defined(__APPLE__)
  malloc_zone_pressure_relief(NULL, 0);
#elif defined(__GLIBC__)
  malloc_trim(0);
#endif
}

#ifdef __APPLE__

int64_t understudy_resident_bytes(void) {
  mach_task_basic_info_data_t info;
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  kern_return_t result = task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)&info, &count);
  return result == KERN_SUCCESS ? (int64_t)info.resident_size : -1;
}

#else

// The second field of /proc/self/statm is the resident memory in pages.
int64_t understudy_resident_bytes(void) {
  int descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return -1;
  char text[128];
  ssize_t count = read(descriptor, text, sizeof text - 1);
  close(descriptor);
  if (count <= 0) return -1;
  text[count] = 0;
  long long pages;
  if (sscanf(text, "%*s %lld", &pages) != 1 || pages < 0) return -1;
  return pages * sysconf(_SC_PAGESIZE);
}

#endif
