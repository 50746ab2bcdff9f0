// libmicrohttpd 0.9.75 answers malformed requests itself, with a page that can't be changed, and in some places with its
// header twice. It queues that page by calling its own public function through the dynamic linker, which finds the function
// of this name in the program first. Should a later version not do so, its own pages are back and nothing else changes; a
// test would tell.
#define _GNU_SOURCE
#include "refusals.h"

#include <dlfcn.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <sockets.h>
#include <string.h>
#include <sys/types.h>

typedef enum MHD_Result (*queue_function)(struct MHD_Connection *, unsigned int, struct MHD_Response *);
typedef ssize_t (*tls_send_function)(void *session, const void *bytes, size_t count);

static _Thread_local understudy_refuse next_refuse;
static _Thread_local void *next_context;
static _Thread_local char next_reason[512];

static _Atomic(understudy_log_line) take_line;

void understudy_take_log(understudy_log_line take) { take_line = take; }

// libmicrohttpd calls this function with its log lines; it is set when a daemon starts. It is in C, because the type of
// its arguments is a different one in Swift on each processor.
void understudy_log(void *context, const char *format, va_list arguments);

void understudy_log(void *context, const char *format, va_list arguments) {
  understudy_log_line take = take_line;
  char line[1024];
  if (take == NULL || vsnprintf(line, sizeof line, format, arguments) < 0) return;
  line[strcspn(line, "\n")] = 0;
  take(context, line);
}

#ifdef __linux__

static enum MHD_Result queue(struct MHD_Connection *connection, unsigned int status, struct MHD_Response *response) {
  static _Atomic(queue_function) found;
  queue_function function = found;
  if (function == NULL) {
    function = (queue_function)dlsym(RTLD_NEXT, "MHD_queue_response");
    found = function;
  }
  return function == NULL ? MHD_NO : function(connection, status, response);
}

#else

// On other systems, a library calls its own functions first, so the pages are libmicrohttpd's own.
static enum MHD_Result queue(struct MHD_Connection *connection, unsigned int status, struct MHD_Response *response) {
  return MHD_queue_response(connection, status, response);
}

#endif

void understudy_replace_next_answer(understudy_refuse refuse, void *context, const char *reason) {
  next_refuse = refuse;
  next_context = context;
  snprintf(next_reason, sizeof next_reason, "%s", reason);
}

int understudy_queue_answer(struct MHD_Connection *connection, unsigned int status, struct MHD_Response *response) {
  next_refuse = NULL;
  return queue(connection, status, response);
}

#ifdef __linux__
__attribute__((visibility("default"))) enum MHD_Result MHD_queue_response(
    struct MHD_Connection *connection, unsigned int status, struct MHD_Response *response) {
  understudy_refuse refuse = next_refuse;
  next_refuse = NULL;
  if (refuse == NULL) return queue(connection, status, response);
  // MHD_NO makes libmicrohttpd close the connection.
  return refuse(next_context, connection, status, next_reason) ? MHD_YES : MHD_NO;
}
#endif

int understudy_send_ahead(struct MHD_Connection *connection, const void *bytes, size_t count) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (info == NULL) return -1;
  int descriptor = info->connect_fd;
  info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  void *session = info == NULL ? NULL : info->tls_session;
  if (session == NULL) {
    send(descriptor, bytes, count, understudy_no_signal | MSG_DONTWAIT);
  } else {
    // GnuTLS is in the process already, since libmicrohttpd has loaded it.
    tls_send_function tls_send = (tls_send_function)dlsym(RTLD_DEFAULT, "gnutls_record_send");
    if (tls_send != NULL) tls_send(session, bytes, count);
  }
  return descriptor;
}

void understudy_send_now(struct MHD_Connection *connection, const void *bytes, size_t count) {
  int descriptor = understudy_send_ahead(connection, bytes, count);
  if (descriptor < 0) return;
  // Closing a socket that has unread bytes would discard what was sent.
  shutdown(descriptor, SHUT_WR);
  char unread[16384];
  for (int i = 0; i < 64 && recv(descriptor, unread, sizeof unread, MSG_DONTWAIT) > 0; i++) continue;
}
