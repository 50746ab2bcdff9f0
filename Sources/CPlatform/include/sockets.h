// Sockets, where systems differ.
#ifndef UNDERSTUDY_SOCKETS_H
#define UNDERSTUDY_SOCKETS_H

#include <sys/socket.h>
#include <sys/time.h>

// SOCK_STREAM, which isn't a plain number for Swift everywhere.
static const int understudy_stream = SOCK_STREAM;

// A flag of `send`: no SIGPIPE when the other end has closed. Darwin has an option of the socket in its place, which
// sockets made by the functions below have.
#ifdef __APPLE__
static const int understudy_no_signal = 0;
#else
static const int understudy_no_signal = MSG_NOSIGNAL;
#endif

// A socket that other programs don't inherit, or -1.
int understudy_socket(int family, int type, int protocol);

// A connection that other programs don't inherit, or -1. `address` may be NULL.
int understudy_accept(int listener, struct sockaddr_storage *_Nullable address, socklen_t *_Nullable length, int blocking);

// Connects within so many milliseconds. Returns 0, or the reason; ETIMEDOUT also when it takes longer.
int understudy_connect(int socket, const struct sockaddr *_Nonnull address, socklen_t length, int milliseconds);

// Whether reading and writing wait.
void understudy_block(int socket, int blocking);

// Limits reading and writing (SO_RCVTIMEO and SO_SNDTIMEO), each.
void understudy_limit(int socket, int option, long seconds, long microseconds);

// Has writing to a closed connection be an error and not SIGPIPE, where that is the socket's to say.
void understudy_silence(int socket);

#endif
