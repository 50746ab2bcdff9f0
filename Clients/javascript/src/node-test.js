import { basename } from 'node:path'

import { Understudy } from './understudy.js'
import { uniqueWorldName } from './world-name.js'

/// How many refusals a failed test tells.
const told = 20

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
    await tell(world, t)
    throw error
  } finally {
    // A daemon that is gone has told the test already.
    await world.delete().catch(() => {})
  }
}

async function tell(world, t) {
  let refusals
  try { refusals = await world.refusals() } catch (error) { refusals = [`the recording can't be read: ${error.message}`] }
  if (refusals.length === 0) refusals = ['nothing was refused']
  for (const line of refusals.slice(-told)) t.diagnostic(`understudy: ${line}`)
}
