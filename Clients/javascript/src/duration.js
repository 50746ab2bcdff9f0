/// Returns a duration in the daemon's form. A text such as `"6m"` stays, and a number is milliseconds.
export const duration = value => typeof value === 'number' ? `${Math.round(value)}ms` : value

/// Returns the body that sets the clock to a moment: whole seconds, since a daemon may refuse a fraction, and the
/// fraction as a step. A text stays.
export function goTo(value) {
  if (!(value instanceof Date)) return { set: value }
  const rest = ((value.getTime() % 1000) + 1000) % 1000
  const seconds = new Date(value.getTime() - rest).toISOString().replace('.000Z', 'Z')
  return rest === 0 ? { set: seconds } : { set: seconds, advance: duration(rest) }
}

/// Returns a number of times in the daemon's form. `Infinity` becomes null.
export const times = value => value === Infinity ? null : value
