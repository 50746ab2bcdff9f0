import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import test from 'node:test'
import { fileURLToPath } from 'node:url'

import { Understudy } from '@understudy/client'

const file = fileURLToPath(new URL('fixtures/sign-in.js', import.meta.url))

/// Runs the fixture's tests, and returns a line of TAP for each.
function run(environment = {}) {
  const { NODE_TEST_CONTEXT, ...inherited } = process.env
  const done = spawnSync(process.execPath, ['--test', file], { env: { ...inherited, ...environment }, encoding: 'utf8' })
  assert.equal(done.status, 1, done.stderr)
  return done.stdout.replace(/\u001b\[\d+m/g, '')
}

const wanted = [
  /understudy: GET api\.github\.com\/user 401: Authorization is missing/, /understudy: no request came to http:.*: was the code under test led there\?/,
  /expected at least 1 of .*\/auth\/token/, /for another reason/,
  /understudy: fault-1 met no request that matches \{"path":"\/auth\/token"\}/, /pass 2/, /fail 2/
]

test('each test has a world, and one that fails tells what was refused', () => {
  const output = run()
  for (const pattern of wanted) assert.match(output, pattern)
})

test('the same at UNDERSTUDY_URL, where no world is left', async () => {
  const understudy = await Understudy.start()
  try {
    const output = run({ UNDERSTUDY_URL: understudy.url, UNDERSTUDY_BINARY: '/nowhere' })
    for (const pattern of wanted) assert.match(output, pattern)
    assert.deepEqual((await understudy.worlds()).map(one => one.name), ['default'])
    // Refused requests stay in the daemon's recording after their worlds were deleted.
    assert.deepEqual((await understudy.requests({ refused: true })).map(one => [one.path, one.gone]), [['/user', true]])
  } finally { await understudy.stop() }
})

test('a daemon that can\'t be reached is told', () => {
  const output = run({ UNDERSTUDY_URL: 'http://127.0.0.1:9' })
  assert.match(output, /no Understudy answers at http:\/\/127\.0\.0\.1:9/)
  assert.match(output, /fail 4/)
})
