// These functions replace the answers that libmicrohttpd gives to malformed requests by itself.
#ifndef UNDERSTUDY_REFUSALS_H
#define UNDERSTUDY_REFUSALS_H

#include <stddef.h>

struct MHD_Connection;
struct MHD_Response;

// A function that answers a connection instead of libmicrohttpd. It returns 1 if it has queued an answer, and 0 if it
// has sent one and libmicrohttpd has to close the connection.
typedef int (*understudy_refuse)(void *context, struct MHD_Connection *connection, unsigned int status,
                                 const char *reason);

// Marks this thread as one of libmicrohttpd's workers.
void understudy_note_worker(void);

// A function that receives one line of libmicrohttpd's log.
typedef void (*understudy_log_line)(void *context, const char *line);

// Sets the function to which all daemons of the process send their log lines.
void understudy_take_log(understudy_log_line take);

// Makes this thread call `refuse` instead of queueing its next answer. Call it when libmicrohttpd logs that it refuses
// a request. libmicrohttpd queues its own answer right after that, on the same thread.
void understudy_replace_next_answer(understudy_refuse refuse, void *context, const char *reason);

// Queues an answer of Understudy's, which is never replaced.
int understudy_queue_answer(struct MHD_Connection *connection, unsigned int status, struct MHD_Response *response);

// Sends a response without libmicrohttpd, before the whole request has come, and through TLS if the connection has it.
// It sends as much as the socket takes at once. Returns the connection's descriptor, or -1 if there is none.
int understudy_send_ahead(struct MHD_Connection *connection, const void *bytes, size_t count);

// Sends a response as the function above does, and then shuts the connection down for sending and reading.
void understudy_send_now(struct MHD_Connection *connection, const void *bytes, size_t count);

#endif
