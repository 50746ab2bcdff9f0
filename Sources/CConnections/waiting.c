// libmicrohttpd 0.9.75 asks epoll for up to 128 events, and when there are exactly as many it asks again, before it looks at
// any of them, for as long as it would wait for the next request: with 128 connections to a worker whose requests come
// together, nobody is answered. It calls epoll_wait through the dynamic linker, which finds the function of this name in the
// program first. In the function below, the second call doesn't wait.
#define _GNU_SOURCE
#include "refusals.h"

#ifdef __linux__

#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>

static _Thread_local int is_worker;
static _Thread_local int was_full;

void understudy_note_worker(void) { is_worker = 1; }

__attribute__((visibility("default"))) int epoll_wait(int set, struct epoll_event *events, int capacity, int timeout) {
  int count = epoll_pwait(set, events, capacity, is_worker && was_full ? 0 : timeout, NULL);
  was_full = count == capacity;
  return count;
}

#else

void understudy_note_worker(void) {}

#endif
