/// A duration as the daemon writes it: `"6m"` stays, a number is milliseconds.
export const duration = value => typeof value === 'number' ? `${Math.round(value)}ms` : value

/// The clock's order for a moment: whole seconds, which every daemon reads, and the rest as a step. A text stays.
export function goTo(value) {
  if (!(value instanceof Date)) return { set: value }
  const rest = ((value.getTime() % 1000) + 1000) % 1000
  const seconds = new Date(value.getTime() - rest).toISOString().replace('.000Z', 'Z')
  return rest === 0 ? { set: seconds } : { set: seconds, advance: duration(rest) }
}

/// How many times: `Infinity` is for ever, which is null in JSON.
export const times = value => value === Infinity ? null : value
