// jansson, with what Swift can't reach: the text of an error is an array, and its code lies in that array's last byte.
#ifndef UNDERSTUDY_CJANSSON_SHIM_H
#define UNDERSTUDY_CJANSSON_SHIM_H

#include <jansson.h>

static inline const char *understudy_json_error_text(const json_error_t *error) { return error->text; }

// A number that is too large for its type, rather than text that isn't JSON.
static inline int understudy_json_is_overflow(const json_error_t *error) {
  return json_error_code(error) == json_error_numeric_overflow;
}

#endif
