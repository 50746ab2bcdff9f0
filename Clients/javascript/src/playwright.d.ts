import type { StartOptions, Understudy } from './understudy.js'
import type { World } from './world.js'

/** The fixtures of a test. */
export interface WorldFixtures {
  /** A world of the test's own; or the one that `understudyWorld` names, reset. */
  world: World
  /** The world of all tests, for an app that can't be told one for each test: `test.use({ understudyWorld: 'default' })`. */
  understudyWorld: string | undefined
}

/** The fixtures of a worker. */
export interface UnderstudyFixtures {
  /** The daemon at UNDERSTUDY_URL; where the variable isn't set, one of the worker's own. */
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

/** For Playwright's `test.extend<WorldFixtures, UnderstudyFixtures>(fixtures)`. */
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
