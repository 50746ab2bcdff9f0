import type { Duration, Moment } from './duration.js'

/** A world's time. Codes, tokens and sessions expire by it. */
export interface Clock {
  /** The time in the world. */
  now(): Promise<Date>
  /** Whether time stands still. */
  isFrozen(): Promise<boolean>
  /** Moves on, or back where it is negative. Answers with the new time, as the others do. */
  advance(span: Duration): Promise<Date>
  /** Goes to a moment, and runs on from there unless it is frozen. */
  set(time: Moment): Promise<Date>
  /** Time stands still, now or at a moment. */
  freeze(time?: Moment): Promise<Date>
  /** Time runs again. */
  unfreeze(): Promise<Date>
  /** Back to the machine's time, running. */
  reset(): Promise<Date>
}
