import type { StartOptions, Understudy } from './understudy.js'
import type { World } from './world.js'

/** What `withWorld` needs of node:test's `TestContext`. */
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
    /** How the daemon is started, where this test is the first. */
    start?: StartOptions
  }
): (t: T) => Promise<void>
