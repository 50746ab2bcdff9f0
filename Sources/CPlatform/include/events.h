// A set of descriptors that one thread waits for: Linux's epoll, Darwin's kqueue.
#ifndef UNDERSTUDY_EVENTS_H
#define UNDERSTUDY_EVENTS_H

#include <stdint.h>

typedef struct {
  int set;
  // Ends a wait. -1 where the set can be told so itself.
  int wake;
} understudy_events;

// `set` is -1 when the system gives no descriptors.
understudy_events understudy_events_open(void);
void understudy_events_close(understudy_events events);

// Tells when the descriptor can be read from; or, for `closing`, when the other end has closed, or its half of the
// connection: seldom more than once. `word` is told then, which is below 2^63. Returns 0, or -1.
int understudy_events_add(understudy_events events, int descriptor, int closing, uint64_t word);
int understudy_events_remove(understudy_events events, int descriptor);

// The words of at most 128 descriptors about which there is something to tell. Returns how many; -1 when a signal came.
int understudy_events_wait(understudy_events events, uint64_t words[128], int milliseconds);

// Ends the wait that there is, or the next one.
void understudy_events_wake(understudy_events events);

#endif
