/** A duration: `"500ms"`, `"2s"`, `"6m"`, `"1h"`, `"1d"`, or a number of milliseconds. */
export type Duration = string | number
/** A moment: a `Date`, or a text as in RFC 3339, such as `"2030-01-01T00:00:00Z"`. */
export type Moment = Date | string
