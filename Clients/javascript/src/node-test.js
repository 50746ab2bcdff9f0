import { basename } from 'node:path'

import { UnderstudyError } from './errors.js'
import { account } from './recording.js'
import { Understudy } from './understudy.js'
import { uniqueWorldName } from './world-name.js'

let shared

/// Returns the daemon of this process: the one at UNDERSTUDY_URL, or one that the first test starts and that ends with
/// the process.
export const understudy = options => shared ??= Understudy.startOrConnect(options)

/// Gives a test's function a world of its own: `test('…', withWorld(async world => { … }))`.
export const withWorld = (run, { seed, start } = {}) => async t => {
  const daemon = await understudy(start)
  // The name of the test isn't unique: at a shared daemon, the same test may run twice at the same time.
  const world = daemon.world(uniqueWorldName(`${basename(process.argv[1] ?? '')} ${t.name}`))
  try {
    if (seed !== undefined) await world.seed(seed)
    await run(world, t)
  } catch (error) {
    // If one of the test's own calls was refused, its error already says why.
    const isTold = error instanceof UnderstudyError && error.constructor === UnderstudyError && error.code !== 'page'
    if (!isTold) for (const line of await account(world)) t.diagnostic(`understudy: ${line}`)
    throw error
  } finally {
    // If the daemon has ended, the test has already failed for that reason.
    await world.delete().catch(() => {})
  }
}
