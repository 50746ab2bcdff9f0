// Takes the place of the answers that libmicrohttpd gives by itself.
#ifndef UNDERSTUDY_REFUSALS_H
#define UNDERSTUDY_REFUSALS_H

#include <stddef.h>

struct MHD_Connection;
struct MHD_Response;

// Answers a connection in place of libmicrohttpd: 1 when it has queued an answer, 0 when it has sent one and libmicrohttpd is
// to close the connection.
typedef int (*understudy_refuse)(void *context, struct MHD_Connection *connection, unsigned int status,
                                 const char *reason);

// Says that this thread is one of libmicrohttpd's workers.
void understudy_note_worker(void);

// Takes one line of libmicrohttpd's log.
typedef void (*understudy_log_line)(void *context, const char *line);

// Has all daemons of the process give their lines to this function.
void understudy_take_log(understudy_log_line take);

// Called when libmicrohttpd has said that it refuses a request, which it does right before it queues its own answer, on
// the same thread. In place of queueing this thread's next answer, `refuse` is called.
void understudy_replace_next_answer(understudy_refuse refuse, void *context, const char *reason);

// Queues an answer of our own: never replaced.
int understudy_queue_answer(struct MHD_Connection *connection, unsigned int status, struct MHD_Response *response);

// Sends a whole response past libmicrohttpd, through TLS where the connection has it, before the request has come in whole. As much
// as fits the socket at once. Returns the connection's descriptor; -1 when there is none.
int understudy_send_ahead(struct MHD_Connection *connection, const void *bytes, size_t count);

// The same, and nothing more is sent or read on the connection.
void understudy_send_now(struct MHD_Connection *connection, const void *bytes, size_t count);

#endif
