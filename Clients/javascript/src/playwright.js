import { account } from './recording.js'
import { Understudy } from './understudy.js'
import { uniqueWorldName } from './world-name.js'

// Playwright reads the names of fixtures from the source of these functions, so that their first parameters are written as
// patterns: https://playwright.dev/docs/test-fixtures

/// The fixtures for `test.extend(fixtures)` of @playwright/test.
export const fixtures = {
  understudyOptions: [{}, { option: true, scope: 'worker' }],
  understudyWorld: [undefined, { option: true }],

  understudy: [async ({ understudyOptions }, use) => {
    const understudy = await Understudy.startOrConnect(understudyOptions)
    await use(understudy)
    await understudy.stop()
  }, { scope: 'worker' }],

  world: async ({ understudy, understudyWorld }, use, testInfo) => {
    const isShared = understudyWorld !== undefined
    const world = understudy.world(isShared ? understudyWorld : uniqueWorldName(testInfo.title))
    if (isShared) await world.reset()
    await use(world)
    if (testInfo.status !== testInfo.expectedStatus) {
      await testInfo.attach('understudy: refusals', { body: (await account(world)).join('\n'), contentType: 'text/plain' })
      await testInfo.attach('understudy.har', { body: JSON.stringify(await world.har()), contentType: 'application/json' })
    }
    if (!isShared) await world.delete()
  }
}
