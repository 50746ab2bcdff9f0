// The bodies of responses.
#ifndef UNDERSTUDY_BODIES_H
#define UNDERSTUDY_BODIES_H

#include <stddef.h>

struct MHD_Response;

// A response with a copy of these bytes; NULL when there is no memory.
struct MHD_Response *understudy_copied_response(const void *bytes, size_t count);

#endif
