// These functions call libmicrohttpd for Swift, which can't call variadic functions such as MHD_start_daemon.
#ifndef UNDERSTUDY_CMICROHTTPD_SHIM_H
#define UNDERSTUDY_CMICROHTTPD_SHIM_H

#include <microhttpd.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/socket.h>

// CConnections defines this function.
extern void understudy_log(void *context, const char *format, va_list arguments);

typedef struct {
  unsigned int workers;
  unsigned int connection_limit;
  unsigned int idle_timeout_seconds;
  size_t connection_memory_bytes;
  void *context;
  MHD_AccessHandlerCallback handle;
  void *(*begin)(void *context, const char *uri, struct MHD_Connection *connection);
  MHD_RequestCompletedCallback completed;
  MHD_NotifyConnectionCallback connection;
  // The certificate and the key as PEM, or NULL without TLS. libmicrohttpd uses the pointers until the daemon stops.
  const char *tls_certificate;
  const char *tls_key;
  // Whether to use no epoll, as on systems that lack it.
  int polls;
} understudy_daemon_options;

static inline unsigned int understudy_event_loop(const understudy_daemon_options *o) {
  if (!o->polls && MHD_is_feature_supported(MHD_FEATURE_EPOLL) == MHD_YES) return MHD_USE_EPOLL_INTERNAL_THREAD;
  return MHD_USE_POLL_INTERNAL_THREAD;
}

static inline struct MHD_Daemon *understudy_start_daemon(const understudy_daemon_options *o) {
  unsigned int flags = understudy_event_loop(o) | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_ITC |
                       MHD_USE_NO_LISTEN_SOCKET;
  if (o->tls_certificate != NULL) flags |= MHD_USE_TLS;
  struct MHD_OptionItem tls[] = {
      {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)o->tls_certificate},
      {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)o->tls_key},
      // This priority string of GnuTLS allows only TLS 1.2 and 1.3.
      {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
      {MHD_OPTION_END, 0, NULL},
  };
  struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
  struct MHD_OptionItem options[] = {
      {MHD_OPTION_ARRAY, 0, o->tls_certificate != NULL ? tls : plain},
      {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)understudy_log, o->context},
      {MHD_OPTION_CONNECTION_LIMIT, o->connection_limit, NULL},
      {MHD_OPTION_CONNECTION_TIMEOUT, o->idle_timeout_seconds, NULL},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)o->connection_memory_bytes, NULL},
      {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)o->begin, o->context},
      {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)o->completed, o->context},
      {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)o->connection, o->context},
      {o->workers > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, o->workers, NULL},
      {MHD_OPTION_END, 0, NULL},
  };
  return MHD_start_daemon(flags, 0, NULL, NULL, o->handle, o->context, MHD_OPTION_ARRAY, options,
                          MHD_OPTION_END);
}

// These are the results of a content reader. Swift doesn't import the header's macros, since they contain casts.
static const ssize_t understudy_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t understudy_end_with_error = MHD_CONTENT_READER_END_WITH_ERROR;
static const uint64_t understudy_unknown_size = MHD_SIZE_UNKNOWN;

static inline int understudy_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

// Returns the value that the notification about the connection has set, or NULL.
static inline void *understudy_connection_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

// Puts an empty `Cookie` header before those of the request. libmicrohttpd then parses only the empty one.
static inline void understudy_hide_cookies(struct MHD_Connection *connection) {
  MHD_set_connection_value(connection, MHD_HEADER_KIND, "Cookie", "");
}

#endif
