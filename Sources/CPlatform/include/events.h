// These functions wait for events of a set of descriptors on one thread. They use Linux's epoll and Darwin's kqueue.
#ifndef UNDERSTUDY_EVENTS_H
#define UNDERSTUDY_EVENTS_H

#include <stdint.h>

typedef struct {
  int set;
  // The descriptor that ends a wait, or -1 if the set itself can end it.
  int wake;
} understudy_events;

// Makes a set. Its `set` is -1 if the system has no more descriptors.
understudy_events understudy_events_open(void);
void understudy_events_close(understudy_events events);

// Adds a descriptor. An event comes when it can be read from, or with `closing` when the other end has closed the
// connection or its half of it, seldom more than once. The event has `word`, which is below 2^63. Returns 0, or -1.
int understudy_events_add(understudy_events events, int descriptor, int closing, uint64_t word);
int understudy_events_remove(understudy_events events, int descriptor);

// Waits for events, and writes the words of at most 128 descriptors with events. Returns their number, or -1 if a
// signal came.
int understudy_events_wait(understudy_events events, uint64_t words[128], int milliseconds);

// Ends the current wait, or the next one.
void understudy_events_wake(understudy_events events);

#endif
