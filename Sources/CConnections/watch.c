#define _GNU_SOURCE
#include "watch.h"

#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

int understudy_epoll_make(void) { return epoll_create1(EPOLL_CLOEXEC); }

int understudy_epoll_add(int set, int descriptor, int closing, uint64_t word) {
  struct epoll_event event = {.events = closing ? EPOLLRDHUP | EPOLLONESHOT : EPOLLIN, .data.u64 = word};
  return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event);
}

int understudy_epoll_remove(int set, int descriptor) { return epoll_ctl(set, EPOLL_CTL_DEL, descriptor, NULL); }

int understudy_epoll_wait(int set, uint64_t words[128], int milliseconds) {
  struct epoll_event events[128];
  int count = epoll_wait(set, events, 128, milliseconds);
  for (int i = 0; i < count; i++) words[i] = events[i].data.u64;
  return count;
}

int understudy_eventfd_make(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int understudy_accept(int listener, struct sockaddr_storage *address, socklen_t *length) {
  return accept4(listener, (struct sockaddr *)address, length, SOCK_CLOEXEC | SOCK_NONBLOCK);
}
