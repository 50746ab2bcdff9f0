// The fixtures without Playwright, which isn't to be had here: what its runner does with them is done by hand.
// https://playwright.dev/docs/test-fixtures
import assert from 'node:assert/strict'
import test, { after } from 'node:test'

import { Understudy } from '@understudy/client'
import { fixtures } from '@understudy/client/playwright'
import { daemon } from './support.js'

const understudy = await daemon()
process.env.UNDERSTUDY_URL = understudy.url
after(() => { delete process.env.UNDERSTUDY_URL })

/// Makes a test's information as it is while the test runs.
const information = title => ({
  title, status: 'passed', expectedStatus: 'passed', attached: [],
  async attach(name, { body, contentType }) { this.attached.push({ name, body, contentType }) } })

/// Sets a fixture up, runs the test with it, and tears it down.
async function using(fixture, others, information, run) {
  let value
  await fixture(others, async given => { value = given; await run?.(given) }, information)
  return value
}

test('names are written as patterns, since Playwright reads them', () => {
  for (const fixture of [fixtures.understudy[0], fixtures.world]) assert.match(String(fixture), /^async \(\{ \w+(, \w+)* \}, use/)
  assert.equal(fixtures.understudy[1].scope, 'worker')
})

test('a worker has a daemon', async () => {
  const found = await using(fixtures.understudy[0], { understudyOptions: {} })
  assert.equal(found.url, understudy.url)
  delete process.env.UNDERSTUDY_URL
  try {
    const started = await using(fixtures.understudy[0], { understudyOptions: { seed: { accounts: [{ id: 'zoe' }] } } }, undefined, async own => {
      assert.deepEqual((await own.world().accounts.list()).map(one => one.id), ['zoe'])
    })
    await assert.rejects(Understudy.connect(started.url), { code: 'unreachable' })
  } finally { process.env.UNDERSTUDY_URL = understudy.url }
})

test('each test has a world', async () => {
  const names = []
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const about = information('signs in with Apple')
    const world = await using(fixtures.world, { understudy, understudyWorld: undefined }, about, world => world.accounts.add({ id: 'max' }))
    names.push(world.name)
    assert.deepEqual(about.attached, [])
  }
  assert.match(names[0], /^signs-in-with-apple-/)
  assert.notEqual(names[0], names[1])
  assert.ok(!(await understudy.worlds()).some(world => names.includes(world.name)))
})

test('a test that fails gets the refusals and an archive', async () => {
  const about = information('fails')
  await using(fixtures.world, { understudy, understudyWorld: undefined }, about, async world => {
    await fetch(`${world.hostURL('api.github.com')}/user`, { headers: { 'user-agent': 'x' } })
    about.status = 'failed'
  })
  const [refusals, archive] = about.attached
  assert.match(refusals.body, /^GET api\.github\.com\/user 401: Authorization is missing/)
  assert.equal(JSON.parse(archive.body).log.entries.length, 1)
  assert.equal(archive.contentType, 'application/json')
})

test('a world that all tests share is reset', async () => {
  await understudy.world('shared').accounts.add({ id: 'max' })
  await using(fixtures.world, { understudy, understudyWorld: 'shared' }, information('shares'), async world => {
    assert.equal(world.name, 'shared')
    await assert.rejects(world.accounts.get('max'), { code: 'noSuchAccount' })
  })
  assert.ok((await understudy.worlds()).some(world => world.name === 'shared'))
})
