import { basename } from 'node:path'

import { UnderstudyError } from './errors.js'
import { account } from './recording.js'
import { Understudy } from './understudy.js'
import { uniqueWorldName } from './world-name.js'

let shared

/// The daemon of this process: at UNDERSTUDY_URL, or started with the first test that needs it. It ends with the process.
export const understudy = options => shared ??= Understudy.startOrConnect(options)

/// A test's function that gets a world of its own: `test('…', withWorld(async world => { … }))`.
export const withWorld = (run, { seed, start } = {}) => async t => {
  const daemon = await understudy(start)
  // Not only its name: the same test may run twice at the same time, at a daemon that others use, too.
  const world = daemon.world(uniqueWorldName(`${basename(process.argv[1] ?? '')} ${t.name}`))
  try {
    if (seed !== undefined) await world.seed(seed)
    await run(world, t)
  } catch (error) {
    // A call of the test's own that was refused has said why.
    const isTold = error instanceof UnderstudyError && error.constructor === UnderstudyError && error.code !== 'page'
    if (!isTold) for (const line of await account(world)) t.diagnostic(`understudy: ${line}`)
    throw error
  } finally {
    // A daemon that is gone has told the test already.
    await world.delete().catch(() => {})
  }
}
