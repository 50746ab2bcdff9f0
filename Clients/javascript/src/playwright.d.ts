import type { StartOptions, Understudy } from './understudy.js'
import type { World } from './world.js'

/** The fixtures of a test. */
export interface WorldFixtures {
  /** The test's own world, or the world that `understudyWorld` names, which is reset before the test. */
  world: World
  /**
   * The name of one world for all tests, for an app that can't use one for each: `test.use({ understudyWorld: 'default'
   * })`.
   */
  understudyWorld: string | undefined
}

/** The fixtures of a worker. */
export interface UnderstudyFixtures {
  /** The daemon at UNDERSTUDY_URL, or the worker's own daemon if the variable isn't set. */
  understudy: Understudy
  /** Options for starting the daemon. */
  understudyOptions: StartOptions
}

/** The part of Playwright's `TestInfo` that `world` needs. */
export interface TestInformation {
  readonly title: string
  readonly status?: string
  readonly expectedStatus: string
  attach(name: string, options: { body: string; contentType: string }): Promise<void>
}

/** The fixtures for Playwright's `test.extend<WorldFixtures, UnderstudyFixtures>(fixtures)`. */
export const fixtures: {
  understudyOptions: [StartOptions, { option: true; scope: 'worker' }]
  understudyWorld: [string | undefined, { option: true }]
  understudy: [
    (fixtures: { understudyOptions: StartOptions }, use: (understudy: Understudy) => Promise<void>) => Promise<void>,
    { scope: 'worker' }
  ]
  world: (
    fixtures: { understudy: Understudy; understudyWorld: string | undefined }, use: (world: World) => Promise<void>,
    testInfo: TestInformation
  ) => Promise<void>
}
