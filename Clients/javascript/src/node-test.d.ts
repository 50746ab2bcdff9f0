import type { StartOptions, Understudy } from './understudy.js'
import type { World } from './world.js'

/** The part of node:test's `TestContext` that `withWorld` needs. */
export interface Context {
  readonly name: string
  diagnostic(message: string): void
}

/** The daemon of this process: at UNDERSTUDY_URL, or started with the first call, whose `options` count. It ends with the process. */
export function understudy(options?: StartOptions): Promise<Understudy>

/**
 * A test's function that gets a world of its own: `test('…', withWorld(async world => { … }))`. The world is deleted
 * afterwards. A test that fails tells what was refused, and why, as diagnostics.
 */
export function withWorld<T extends Context>(
  run: (world: World, t: T) => unknown,
  options?: {
    /** Merged into the world's seed. */
    seed?: Record<string, unknown>
    /** Options for starting the daemon, if this test is the first one. */
    start?: StartOptions
  }
): (t: T) => Promise<void>
