// These tests run the examples of README.md and docs/javascript.md. Each `js` block that begins with a file's name is
// written to that file.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import test, { before } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { daemon } from './support.js'

const here = fileURLToPath(new URL('.', import.meta.url))
const folder = join(here, '../../../.build/kits/javascript-docs')
const files = []

before(() => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(join(folder, 'node_modules/@understudy'), { recursive: true })
  symlinkSync(join(here, '..'), join(folder, 'node_modules/@understudy/client'))
  cpSync(join(here, 'runners'), join(folder, 'node_modules'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const page of ['../README.md', '../../../docs/javascript.md']) {
    const text = readFileSync(join(here, page), 'utf8')
    for (const [, block] of text.matchAll(/^```js\n(.*?)^```$/gms)) {
      const name = /^\/\/ (\S+)\n/.exec(block)?.[1]
      assert.ok(name, `a block of ${page} doesn't say its file:\n${block}`)
      assert.ok(!files.includes(name), `${name} is there twice`)
      files.push(name)
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), block)
    }
  }
})

/// Runs a file of tests, and returns what it prints.
function run(name) {
  const { NODE_TEST_CONTEXT, ...environment } = process.env
  const done = spawnSync(process.execPath, ['--test', join(folder, name)], { encoding: 'utf8', env: environment })
  assert.equal(done.status, 0, done.stdout + done.stderr)
  return done.stdout
}

test('all examples are known', () => {
  const known = [
    'README.test.js', 'sign-in.test.js', 'setup.test.js', 'fixtures.js', 'playwright.config.js',
    'sign-in.spec.js', 'cypress.config.js', 'cypress/support/e2e.js', 'cypress/e2e/sign-in.cy.js']
  assert.deepEqual(files, known)
})

for (const name of ['README', 'sign-in', 'setup']) {
  test(`${name}.test.js`, () => {
    const printed = run(`${name}.test.js`)
    if (name === 'setup') assert.match(printed, /http:\/\/127\.0\.0\.1:\d+\/~checkout \[ 'zoe' \]/)
  })
}

test('Playwright: fixtures.js, the configuration, and the syntax of the test', async () => {
  writeFileSync(join(folder, 'fixtures.test.js'), `
    import { expect, test } from './fixtures.js'
    let first
    test('one', async ({ world, understudy }) => {
      first = world.name
      expect(world.url).toBe(understudy.url + '/~' + world.name)
      await world.accounts.add({ id: 'max' })
    })
    test('two', async ({ world }) => {
      expect(world.name === first).toBe(false)
      expect((await world.daemon.worlds()).some(one => one.name === first)).toBe(false)
    })`)
  assert.match(run('fixtures.test.js'), /pass 2/)
  const { default: config } = await import(pathToFileURL(join(folder, 'playwright.config.js')))
  assert.equal(config.use.understudyWorld, 'default')
  execFileSync(process.execPath, ['--check', join(folder, 'sign-in.spec.js')])
})

test('Cypress: the configuration, the command, and the syntax of the test', async () => {
  const understudy = await daemon()
  process.env.UNDERSTUDY_URL = understudy.url
  const { default: config } = await import(pathToFileURL(join(folder, 'cypress.config.js')))
  let tasks
  config.e2e.setupNodeEvents((event, handlers) => { assert.equal(event, 'task'); tasks = handlers })

  const commands = {}
  const hooks = []
  Object.assign(globalThis, {
    Cypress: { Commands: { add: (name, run) => { commands[name] = run } } }, beforeEach: run => hooks.push(run),
    cy: { task: (name, value) => tasks[name](JSON.parse(JSON.stringify(value))), understudy: (...call) => commands.understudy(...call) }
  })
  await import(pathToFileURL(join(folder, 'cypress/support/e2e.js')))
  await commands.understudy('order', 'google', 'cancel')
  assert.equal((await understudy.world().outcomes()).length, 1)
  await commands.understudy('clock.advance', '6m')
  assert.deepEqual(await commands.understudy('requests', { refused: true }), [])
  // Cypress itself waits for the commands that a hook queues. The hooks don't.
  for (const hook of hooks) hook()
  await commands.understudy('clock.now')
  assert.deepEqual(await understudy.world().outcomes(), [])
  delete process.env.UNDERSTUDY_URL
  execFileSync(process.execPath, ['--check', join(folder, 'cypress/e2e/sign-in.cy.js')])
})
