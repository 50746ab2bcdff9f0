import type { StartOptions, Understudy } from './understudy.js'
import type { World } from './world.js'

/** The part of node:test's `TestContext` that `withWorld` needs. */
export interface Context {
  readonly name: string
  diagnostic(message: string): void
}

/**
 * Returns the daemon of this process: the one at UNDERSTUDY_URL, or one that the first call starts with its `options`
 * and that ends with the process.
 */
export function understudy(options?: StartOptions): Promise<Understudy>

/**
 * Gives a test's function a world of its own: `test('…', withWorld(async world => { … }))`. The world is deleted after
 * the test. If the test fails, its diagnostics list the refused requests and the reasons.
 */
export function withWorld<T extends Context>(
  run: (world: World, t: T) => unknown,
  options?: {
    /** A seed that is merged into the world's seed. */
    seed?: Record<string, unknown>
    /** The options for starting the daemon, which are used if this test is the first one. */
    start?: StartOptions
  }
): (t: T) => Promise<void>
