// These functions are for sockets, in which systems differ.
#ifndef UNDERSTUDY_SOCKETS_H
#define UNDERSTUDY_SOCKETS_H

#include <sys/socket.h>
#include <sys/time.h>

// The value of SOCK_STREAM, which isn't a plain number in Swift on every system.
static const int understudy_stream = SOCK_STREAM;

// A flag of `send` that prevents SIGPIPE if the other end has closed. Darwin has a socket option for that, which
// sockets made by the functions below have.
#ifdef __APPLE__
static const int understudy_no_signal = 0;
#else
static const int understudy_no_signal = MSG_NOSIGNAL;
#endif

// Makes a socket that other programs don't inherit. Returns -1 on failure.
int understudy_socket(int family, int type, int protocol);

// Accepts a connection that other programs don't inherit. Returns -1 on failure. `address` may be NULL.
int understudy_accept(int listener, struct sockaddr_storage *_Nullable address, socklen_t *_Nullable length, int blocking);

// Connects within a number of milliseconds. Returns 0, or the error number, which is ETIMEDOUT if it takes longer.
int understudy_connect(int socket, const struct sockaddr *_Nonnull address, socklen_t length, int milliseconds);

// Sets whether reading and writing wait.
void understudy_block(int socket, int blocking);

// Sets a time limit for each read and each write (SO_RCVTIMEO and SO_SNDTIMEO).
void understudy_limit(int socket, int option, long seconds, long microseconds);

// Makes writing to a closed connection an error and not SIGPIPE, on systems on which that is an option of the socket.
void understudy_silence(int socket);

#endif
