// This is SQLite with a constant that Swift can't reach: the marker for copied text is -1 cast to a function pointer.
#ifndef UNDERSTUDY_CSQLITE_SHIM_H
#define UNDERSTUDY_CSQLITE_SHIM_H

#include <sqlite3.h>

static inline int understudy_sqlite_bind_text(sqlite3_stmt *statement, int place, const char *text, int length) {
  return sqlite3_bind_text(statement, place, text, length, SQLITE_TRANSIENT);
}

#endif
