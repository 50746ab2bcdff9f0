#include "libpq.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifdef __APPLE__
static const char *const names[] = {
    "libpq.5.dylib", "/opt/homebrew/opt/libpq/lib/libpq.5.dylib", "/usr/local/opt/libpq/lib/libpq.5.dylib"};
#else
static const char *const names[] = {"libpq.so.5"};
#endif

// <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PQCONNDEFAULTS>
struct option {
  char *keyword, *variable, *compiled, *value, *label, *display;
  int size;
};

static understudy_libpq library;
static struct option *(*parse)(const char *, char **);
static void (*free_options)(struct option *);
static void (*free_memory)(void *);

static int find(void *handle, const char *name, void *function) {
  void *found = dlsym(handle, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

static int find_all(void *handle) {
#define FIND(member, name) find(handle, name, &library.member)
  return FIND(libVersion, "PQlibVersion") && FIND(connectStartParams, "PQconnectStartParams") &&
         FIND(connectPoll, "PQconnectPoll") && FIND(status, "PQstatus") && FIND(finish, "PQfinish") &&
         FIND(socket, "PQsocket") && FIND(errorMessage, "PQerrorMessage") &&
         FIND(transactionStatus, "PQtransactionStatus") && FIND(setnonblocking, "PQsetnonblocking") &&
         FIND(setNoticeProcessor, "PQsetNoticeProcessor") && FIND(enterPipelineMode, "PQenterPipelineMode") &&
         FIND(pipelineSync, "PQpipelineSync") && FIND(sendPrepare, "PQsendPrepare") &&
         FIND(sendQueryPrepared, "PQsendQueryPrepared") && FIND(flush, "PQflush") &&
         FIND(consumeInput, "PQconsumeInput") && FIND(isBusy, "PQisBusy") && FIND(getResult, "PQgetResult") &&
         FIND(clear, "PQclear") && FIND(resultStatus, "PQresultStatus") &&
         FIND(resultErrorField, "PQresultErrorField") && FIND(ntuples, "PQntuples") &&
         FIND(getisnull, "PQgetisnull") && FIND(getvalue, "PQgetvalue") && FIND(getlength, "PQgetlength") &&
         FIND(cmdTuples, "PQcmdTuples") && find(handle, "PQconninfoParse", &parse) &&
         find(handle, "PQconninfoFree", &free_options) && find(handle, "PQfreemem", &free_memory);
#undef FIND
}

const understudy_libpq *understudy_open_libpq(void) {
  static int is_open;
  for (size_t place = 0; !is_open && place < sizeof names / sizeof *names; place++) {
    // The library stays open, because it registers functions that are called when the program ends.
    void *handle = dlopen(names[place], RTLD_NOW | RTLD_LOCAL);
    if (handle != NULL) is_open = find_all(handle);
  }
  return is_open ? &library : NULL;
}

char *understudy_libpq_option(const char *address, const char *name, int *is_valid) {
  char *message = NULL;
  struct option *options = parse(address, &message);
  // The message may quote the address, with the password that is in it.
  if (message != NULL) free_memory(message);
  *is_valid = options != NULL;
  if (options == NULL) return NULL;
  char *found = NULL;
  for (struct option *option = options; option->keyword != NULL; option++) {
    if (strcmp(option->keyword, name) == 0 && option->value != NULL) found = strdup(option->value);
  }
  free_options(options);
  return found;
}
