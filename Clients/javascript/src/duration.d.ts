/** `"500ms"`, `"2s"`, `"6m"`, `"1h"`, `"1d"`, or a number of milliseconds. */
export type Duration = string | number
/** A moment: a `Date`, or as RFC 3339 writes it, `"2030-01-01T00:00:00Z"`. */
export type Moment = Date | string
