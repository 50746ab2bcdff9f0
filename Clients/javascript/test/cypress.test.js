// These tests call the tasks without Cypress, which isn't installed. Cypress writes a task's argument and its result as
// JSON, and so do the tests. https://docs.cypress.io/api/commands/task
import assert from 'node:assert/strict'
import test, { after } from 'node:test'

import { understudyTasks } from '@understudy/client/cypress'
import { daemon } from './support.js'

const understudy = await daemon()
process.env.UNDERSTUDY_URL = understudy.url
after(() => { delete process.env.UNDERSTUDY_URL })
const tasks = understudyTasks({ world: 'cypress' })
const asJSON = value => JSON.parse(JSON.stringify(value))

/// Does what `cy.task` does. A task that returns `undefined` is an error there.
async function task(name, value) {
  const answer = await tasks[name](asJSON(value))
  assert.notEqual(answer, undefined)
  return asJSON(answer)
}

test('a world\'s methods by their names', async () => {
  assert.equal(await task('understudy', ['reset']), null)
  await task('understudy', ['order', 'apple', 'cancel'])
  assert.equal((await understudy.world('cypress').outcomes()).length, 1)
  await assert.rejects(task('understudy', ['apple.authorize', { client: 'com.example.app' }]), { code: 1001 })
  assert.match(await task('understudy', ['clock.advance', '6m']), /^\d{4}-.*Z$/)
  assert.deepEqual((await task('understudy', ['requests', { refused: true }])).map(one => one.status), [409])
  assert.equal(await task('understudyURL', 'github.com'), `${understudy.url}/~cypress/github.com`)
  assert.equal(await task('understudyURL', null), `${understudy.url}/~cypress`)
})

test('what isn\'t a method of the world is refused', async () => {
  for (const name of ['ordr', 'clock.advanc', 'nothing.reset', 'constructor', 'understudy.stop', 'hasOwnProperty', 'clock', 'url.replace', 'hostURL.call', 'a.b.c']) {
    await assert.rejects(task('understudy', [name]), { code: 'noSuchMethod' }, name)
  }
})
