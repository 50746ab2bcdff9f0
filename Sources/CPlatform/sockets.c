#define _GNU_SOURCE
#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

void understudy_silence(int socket) {
#ifdef SO_NOSIGPIPE
  int one = 1;
  setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &one, sizeof one);
#else
  (void)socket;
#endif
}

void understudy_block(int socket, int blocking) {
  int flags = fcntl(socket, F_GETFL);
  if (flags >= 0) fcntl(socket, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

int understudy_socket(int family, int type, int protocol) {
#ifdef SOCK_CLOEXEC
  return socket(family, type | SOCK_CLOEXEC, protocol);
#else
  int descriptor = socket(family, type, protocol);
  if (descriptor >= 0) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    understudy_silence(descriptor);
  }
  return descriptor;
#endif
}

int understudy_accept(int listener, struct sockaddr_storage *address, socklen_t *length, int blocking) {
#ifdef __linux__
  return accept4(listener, (struct sockaddr *)address, length, SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK));
#else
  int descriptor = accept(listener, (struct sockaddr *)address, length);
  if (descriptor >= 0) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    // On systems other than Linux, a connection blocks if its listener does.
    understudy_block(descriptor, blocking);
    understudy_silence(descriptor);
  }
  return descriptor;
#endif
}

static long long milliseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// The time limit for writing also limits connecting only on Linux.
int understudy_connect(int socket, const struct sockaddr *address, socklen_t length, int milliseconds) {
  long long deadline = milliseconds_now() + milliseconds;
  understudy_block(socket, 0);
  int reason = connect(socket, address, length) == 0 ? 0 : errno;
  while (reason == EINPROGRESS || reason == EINTR) {
    long long left = deadline - milliseconds_now();
    struct pollfd entry = {.fd = socket, .events = POLLOUT};
    int count = poll(&entry, 1, left > 0 ? (int)left : 0);
    if (count > 0) {
      socklen_t size = sizeof reason;
      if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &reason, &size) != 0) reason = errno;
      break;
    }
    if (count == 0) reason = ETIMEDOUT;
    else if (errno != EINTR) reason = errno;
  }
  understudy_block(socket, 1);
  return reason;
}

void understudy_limit(int socket, int option, long seconds, long microseconds) {
  struct timeval time = {.tv_sec = seconds, .tv_usec = (suseconds_t)microseconds};
  setsockopt(socket, SOL_SOCKET, option, &time, sizeof time);
}
