#define _GNU_SOURCE
#include "events.h"

#include <stddef.h>
#include <unistd.h>

static const uint64_t wake_word = UINT64_MAX;

#ifdef __linux__

#include <sys/epoll.h>
#include <sys/eventfd.h>

void understudy_events_close(understudy_events events) {
  if (events.set >= 0) close(events.set);
  if (events.wake >= 0) close(events.wake);
}

understudy_events understudy_events_open(void) {
  understudy_events events = {epoll_create1(EPOLL_CLOEXEC), eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (events.set < 0 || events.wake < 0 || understudy_events_add(events, events.wake, 0, wake_word) != 0) {
    understudy_events_close(events);
    events.set = events.wake = -1;
  }
  return events;
}

int understudy_events_add(understudy_events events, int descriptor, int closing, uint64_t word) {
  struct epoll_event event = {.events = closing ? EPOLLRDHUP | EPOLLONESHOT : EPOLLIN, .data.u64 = word};
  return epoll_ctl(events.set, EPOLL_CTL_ADD, descriptor, &event);
}

int understudy_events_remove(understudy_events events, int descriptor) {
  return epoll_ctl(events.set, EPOLL_CTL_DEL, descriptor, NULL);
}

int understudy_events_wait(understudy_events events, uint64_t words[128], int milliseconds) {
  struct epoll_event told[128];
  int count = epoll_wait(events.set, told, 128, milliseconds), kept = 0;
  if (count < 0) return -1;
  for (int i = 0; i < count; i++) {
    if (told[i].data.u64 != wake_word) {
      words[kept++] = told[i].data.u64;
      continue;
    }
    uint64_t times;
    (void)!read(events.wake, &times, sizeof times);
  }
  return kept;
}

void understudy_events_wake(understudy_events events) {
  uint64_t once = 1;
  (void)!write(events.wake, &once, sizeof once);
}

#else

// https://developer.apple.com/library/archive/documentation/System/Conceptual/ManPages_iPhoneOS/man2/kqueue.2.html
#include <limits.h>
#include <sys/event.h>
#include <sys/time.h>
#include <sys/types.h>

// This bit is set in the words of descriptors that are watched for their end.
static const uint64_t closing_mark = (uint64_t)1 << 63;

static void *as_pointer(uint64_t word) { return (void *)(uintptr_t)word; }

void understudy_events_close(understudy_events events) {
  if (events.set >= 0) close(events.set);
}

// Children don't inherit a queue.
understudy_events understudy_events_open(void) {
  understudy_events events = {kqueue(), -1};
  struct kevent change;
  EV_SET(&change, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, as_pointer(wake_word));
  if (events.set >= 0 && kevent(events.set, &change, 1, NULL, 0, NULL) != 0) {
    understudy_events_close(events);
    events.set = -1;
  }
  return events;
}

// For `closing`, arriving bytes must not cause an event, so the low-water mark is larger than any buffer. With
// EV_CLEAR, each end causes one event.
int understudy_events_add(understudy_events events, int descriptor, int closing, uint64_t word) {
  struct kevent change;
  if (closing)
    EV_SET(&change, descriptor, EVFILT_READ, EV_ADD | EV_CLEAR, NOTE_LOWAT, INT_MAX, as_pointer(word | closing_mark));
  else
    EV_SET(&change, descriptor, EVFILT_READ, EV_ADD, 0, 0, as_pointer(word));
  return kevent(events.set, &change, 1, NULL, 0, NULL);
}

int understudy_events_remove(understudy_events events, int descriptor) {
  struct kevent change;
  EV_SET(&change, descriptor, EVFILT_READ, EV_DELETE, 0, 0, NULL);
  return kevent(events.set, &change, 1, NULL, 0, NULL);
}

int understudy_events_wait(understudy_events events, uint64_t words[128], int milliseconds) {
  struct kevent told[128];
  struct timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  int count = kevent(events.set, NULL, 0, told, 128, &limit), kept = 0;
  if (count < 0) return -1;
  for (int i = 0; i < count; i++) {
    uint64_t word = (uint64_t)(uintptr_t)told[i].udata;
    if (word == wake_word) continue;
    // The buffer of a socket that is watched for its end may be full.
    if ((word & closing_mark) != 0 && (told[i].flags & EV_EOF) == 0) continue;
    words[kept++] = word & ~closing_mark;
  }
  return kept;
}

void understudy_events_wake(understudy_events events) {
  struct kevent change;
  EV_SET(&change, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, as_pointer(wake_word));
  kevent(events.set, &change, 1, NULL, 0, NULL);
}

#endif
