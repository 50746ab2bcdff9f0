// epoll and accept4, which Swift's Glibc doesn't import.
#ifndef UNDERSTUDY_WATCH_H
#define UNDERSTUDY_WATCH_H

#include <stdint.h>
#include <sys/socket.h>

int understudy_epoll_make(void);
// Readable; or, for `closing`, that the other end has closed, told once.
int understudy_epoll_add(int set, int descriptor, int closing, uint64_t word);
int understudy_epoll_remove(int set, int descriptor);
// The words of at most 128 descriptors about which there is something to tell. Returns how many.
int understudy_epoll_wait(int set, uint64_t words[128], int milliseconds);
// A descriptor that becomes readable when 8 bytes are written to it.
int understudy_eventfd_make(void);
// A connection that doesn't block and isn't inherited. `address` may be NULL.
int understudy_accept(int listener, struct sockaddr_storage *address, socklen_t *length);

// Says that this thread is one of libmicrohttpd's workers.
void understudy_note_worker(void);

#endif
