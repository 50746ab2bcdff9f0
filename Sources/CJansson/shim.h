// This is jansson with functions for what Swift can't reach: an error's text is an array whose last byte is its code.
#ifndef UNDERSTUDY_CJANSSON_SHIM_H
#define UNDERSTUDY_CJANSSON_SHIM_H

#include <jansson.h>

static inline const char *understudy_json_error_text(const json_error_t *error) { return error->text; }

// Whether the error is a number that is too large for its type. Otherwise the text isn't JSON.
static inline int understudy_json_is_overflow(const json_error_t *error) {
  return json_error_code(error) == json_error_numeric_overflow;
}

#endif
