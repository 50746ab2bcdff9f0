import type { Duration, Moment } from './duration.js'

/**
 * The clock by which a world's codes, tokens and sessions expire. Methods that change it return the world's new time.
 */
export interface Clock {
  /** Returns the world's time. */
  now(): Promise<Date>
  /** Whether the clock stands still. */
  isFrozen(): Promise<boolean>
  /** Moves the clock forward, or back if the duration is negative. */
  advance(span: Duration): Promise<Date>
  /** Sets the clock to a moment. It runs on from there unless it is frozen. */
  set(time: Moment): Promise<Date>
  /** Stops the clock, at its present time or at the given moment. */
  freeze(time?: Moment): Promise<Date>
  /** Lets the clock run again from the time at which it stood. */
  unfreeze(): Promise<Date>
  /** Sets the clock to the machine's time, and lets it run. */
  reset(): Promise<Date>
}
