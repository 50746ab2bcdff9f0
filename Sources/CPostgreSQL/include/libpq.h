// These are the functions of libpq that are used. The library is loaded when it is first needed, so the program starts
// without it and is built without its headers. <https://www.postgresql.org/docs/current/libpq.html>
#ifndef UNDERSTUDY_LIBPQ_H
#define UNDERSTUDY_LIBPQ_H

typedef struct understudy_pg_connection understudy_pg_connection;
typedef struct understudy_pg_result understudy_pg_result;
typedef void (*understudy_pg_notice)(void *_Nullable context, const char *_Nullable message);

// The numbers of libpq's enumerations, which never change: <https://www.postgresql.org/docs/current/libpq-exec.html>.
static const int understudy_pg_bad = 1;
static const int understudy_pg_polling_failed = 0;
static const int understudy_pg_polling_reading = 1;
static const int understudy_pg_polling_writing = 2;
static const int understudy_pg_polling_ok = 3;
static const int understudy_pg_empty_query = 0;
static const int understudy_pg_command_ok = 1;
static const int understudy_pg_tuples_ok = 2;
static const int understudy_pg_pipeline_sync = 10;
static const int understudy_pg_pipeline_aborted = 11;
static const int understudy_pg_idle = 0;
static const int understudy_pg_sqlstate = 'C';
static const int understudy_pg_message_primary = 'M';

// The functions of libpq, by their names without the "PQ".
typedef struct understudy_libpq {
  int (*_Nonnull libVersion)(void);
  understudy_pg_connection *_Nullable (*_Nonnull connectStartParams)(
      const char *_Nullable const *_Nonnull keywords, const char *_Nullable const *_Nonnull values, int expands);
  int (*_Nonnull connectPoll)(understudy_pg_connection *_Nonnull connection);
  int (*_Nonnull status)(const understudy_pg_connection *_Nonnull connection);
  void (*_Nonnull finish)(understudy_pg_connection *_Nonnull connection);
  int (*_Nonnull socket)(const understudy_pg_connection *_Nonnull connection);
  char *_Nullable (*_Nonnull errorMessage)(const understudy_pg_connection *_Nonnull connection);
  int (*_Nonnull transactionStatus)(const understudy_pg_connection *_Nonnull connection);
  int (*_Nonnull setnonblocking)(understudy_pg_connection *_Nonnull connection, int is_nonblocking);
  understudy_pg_notice _Nullable (*_Nonnull setNoticeProcessor)(
      understudy_pg_connection *_Nonnull connection, understudy_pg_notice _Nonnull notice, void *_Nullable context);
  int (*_Nonnull enterPipelineMode)(understudy_pg_connection *_Nonnull connection);
  int (*_Nonnull pipelineSync)(understudy_pg_connection *_Nonnull connection);
  int (*_Nonnull sendPrepare)(
      understudy_pg_connection *_Nonnull connection, const char *_Nonnull name, const char *_Nonnull query, int count,
      const unsigned int *_Nullable types);
  int (*_Nonnull sendQueryPrepared)(
      understudy_pg_connection *_Nonnull connection, const char *_Nonnull name, int count,
      const char *_Nullable const *_Nullable values, const int *_Nullable lengths, const int *_Nullable formats,
      int result_format);
  int (*_Nonnull flush)(understudy_pg_connection *_Nonnull connection);
  int (*_Nonnull consumeInput)(understudy_pg_connection *_Nonnull connection);
  int (*_Nonnull isBusy)(understudy_pg_connection *_Nonnull connection);
  understudy_pg_result *_Nullable (*_Nonnull getResult)(understudy_pg_connection *_Nonnull connection);
  void (*_Nonnull clear)(understudy_pg_result *_Nonnull result);
  int (*_Nonnull resultStatus)(const understudy_pg_result *_Nonnull result);
  char *_Nullable (*_Nonnull resultErrorField)(const understudy_pg_result *_Nonnull result, int field);
  int (*_Nonnull ntuples)(const understudy_pg_result *_Nonnull result);
  int (*_Nonnull getisnull)(const understudy_pg_result *_Nonnull result, int row, int column);
  char *_Nullable (*_Nonnull getvalue)(const understudy_pg_result *_Nonnull result, int row, int column);
  int (*_Nonnull getlength)(const understudy_pg_result *_Nonnull result, int row, int column);
  char *_Nonnull (*_Nonnull cmdTuples)(understudy_pg_result *_Nonnull result);
} understudy_libpq;

// Opens the library. Returns NULL if it isn't installed, or has no pipeline mode, which came with version 14. Each call
// returns the same. Only one thread may call it at a time.
const understudy_libpq *_Nullable understudy_open_libpq(void);

// Returns the value of an option, such as `password`, in an address, such as a URL. The caller frees it. It is NULL if
// the address doesn't have the option. `is_valid` is 0 if the address is invalid.
char *_Nullable understudy_libpq_option(const char *_Nonnull address, const char *_Nonnull name, int *_Nonnull is_valid);

#endif
